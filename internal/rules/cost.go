package rules

import (
	"strconv"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Cost says what a request takes from a limit: Min to Max units, which are the
// same unless the request states its cost.
//
// Example: the cost comes from header.x-tokens, from 500 to 4,000. A request with
// the value 700 takes 700 units, one with 9 takes 500, and one without the header
// takes 4,000.
type Cost struct {
	Min, Max int64
	Clamp    bool // a cost above what the limit can ever allow takes all of it
	Settle   bool // the backend reports the true cost afterwards

	from      key.Part // where the request states it; a literal for a fixed cost
	inherited bool     // of an override's limit without a cost: the rule's counts
}

// Fixed returns a cost that is the same for every request.
func Fixed(units int64) Cost { return Cost{Min: units, Max: units} }

// unpayable reports whether every request costs more than a limit of this size
// can ever allow.
func (c *Cost) unpayable(most int64) bool { return !c.Clamp && c.Min > most }

// of returns what the request takes from a limit of this size. A stated cost
// that is missing, repeated or unreadable counts as the largest that may be
// stated, so that a client gains nothing by sending an unreadable one.
func (c *Cost) of(req *request.Request, most int64) int64 {
	units := c.Max
	if text, _ := c.from.Value(req); text != "" {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil {
			units = max(c.Min, min(c.Max, int64(n)))
		}
	}
	if c.Clamp {
		units = min(units, most)
	}
	return units
}

// Source says where a request states its cost, such as "header.x-tokens"; "" for
// a fixed cost.
func (c *Cost) Source() string { return c.from.String() }

// ClientStated reports whether the client states the cost.
func (c *Cost) ClientStated() bool { return c.from.Kind.IsClient() }
