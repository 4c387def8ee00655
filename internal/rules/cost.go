package rules

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Cost says what a request takes from a limit: Min to Max units, which are the
// same unless the request states its cost.
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

// cost compiles what a request takes; nil if something of it is wrong.
func (c *compiler) cost(path string, d *ruledoc.Cost) *Cost {
	cost := &Cost{Settle: d.Settle, Min: d.Min, Max: d.Max}
	if *d == (ruledoc.Cost{Units: d.Units}) {
		*cost = Fixed(d.Units)
	} else if d.From != "" {
		var problem string
		cost.from, problem = key.ParseSource(d.From)
		switch cost.from.Kind {
		case key.FromIP, key.FromAPIKey, key.FromMethod, key.FromRoute, key.FromStage, key.FromCountry, key.FromASN:
			problem = cmp.Or(problem, d.From+" states no number: write a header, a parameter or a claim, such as header.x-tokens")
		}
		c.check(path+".from", problem)
	}
	switch {
	case c.wrong[path]:
	case cost.from.Kind.IsClient() && d.Min == 0:
		c.fail(path+".min", "is missing or 0, and the client sets %s: write the least that a client can pay, 1 or more", d.From)
	case d.Min > d.Max:
		c.fail(path+".min", "%d is above max, which is %d: lower it", d.Min, d.Max)
	}
	if c.wrong[path] {
		return nil
	}
	return cost
}

// price returns what a request takes from the limit: the limit's own cost,
// else the rule's, else one unit. A limit of an override without a cost
// inherits one. A cost that no request could ever pay is a problem.
func (c *compiler) price(path string, d *ruledoc.Limit, l *limit.Limit, in limitContext) Cost {
	at, price := in.costPath, in.cost
	if d.Cost != nil {
		at = path + ".cost"
		price = c.cost(at, d.Cost)
	}
	if price == nil {
		return Cost{Min: 1, Max: 1, Clamp: d.Over == "clamp", inherited: in.override}
	}
	cost := *price
	cost.Clamp = d.Over != ""
	if c.wrong[path+".algorithm"] {
		return cost
	}
	if cost.Settle && !l.Correctable() {
		c.fail(at, "%s is a %s, which cannot be corrected afterwards: remove settle, or write algorithm: %s there",
			path, l.Algorithm, limit.SlidingWindow)
	}
	if most := l.MaxCost(); most != 0 && cost.unpayable(most) {
		c.fail(at, "%d is above the %s %d of %s, so no request would ever be allowed: "+
			"lower the cost, raise the %[2]s, or write over: clamp in the limit", cost.Min, SizeField(l.Algorithm), most, path)
	}
	return cost
}

// SizeField names the field with the most that a limit can allow at once.
func SizeField(a limit.Algorithm) string {
	switch a {
	case limit.TokenBucket:
		return "burst"
	case limit.LeakyBucket:
		return "queue"
	}
	return "capacity"
}

// tooHigh reports that the limit could never allow the least that a request pays.
func (c *Cost) tooHigh(l *limit.Limit) (problem string) {
	if !c.unpayable(l.MaxCost()) {
		return ""
	}
	return fmt.Sprintf("a request costs %d here, above the %s %d, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit",
		c.Min, SizeField(l.Algorithm), l.MaxCost())
}
