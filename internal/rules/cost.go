package rules

import "strconv"

// Cost says what a request takes from a limit.
type Cost struct {
	Units  int64 // where the request does not say
	Clamp  bool  // a cost above what the limit can ever allow takes all that it holds
	Settle bool  // the true cost is told afterwards; until then the stated one counts

	from      part  // where the request states it; a literal for a fixed cost
	min, max  int64 // what a stated cost is held to
	inherited bool  // the rule's own counts, for a limit of an override that says nothing of its cost
}

// Fixed returns a cost that is the same for every request.
func Fixed(units int64) Cost { return Cost{Units: units} }

// most returns the most that a request may cost, before the limit has its say.
func (c *Cost) most() int64 {
	if c.from.source != literal {
		return c.max
	}
	return c.Units
}

// least returns the least that a request may cost, before the limit has its say.
func (c *Cost) least() int64 {
	if c.from.source != literal {
		return c.min
	}
	return c.Units
}

// unpayable reports whether every request costs more than a limit that holds most can ever allow.
func (c *Cost) unpayable(most int64) bool { return !c.Clamp && c.least() > most }

// of returns what the request takes from a limit that holds most. A cost that is missing, repeated or unreadable counts
// as the most that may be stated, so that nobody gains by garbling it.
func (c *Cost) of(req *Request, most int64) int64 {
	units := c.Units
	if c.from.source != literal {
		units = c.stated(req)
	}
	if c.Clamp {
		units = min(units, most)
	}
	return units
}

func (c *Cost) stated(req *Request) int64 {
	text, ok := c.from.only(req)
	if !ok {
		return c.max
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return c.max
	}
	return max(c.min, min(c.max, int64(n)))
}

// Stated says where a request states its cost, such as "header.x-tokens", and
// the least and the most that it can pay; ok is false for a fixed cost.
func (c *Cost) Stated() (source string, least, most int64, ok bool) {
	if c.from.source == literal {
		return "", 0, 0, false
	}
	return c.from.spell(), c.min, c.max, true
}

// Bounds returns the least and the most that a request can pay, before the
// limit clamps it.
func (c *Cost) Bounds() (least, most int64) { return c.least(), c.most() }

// ClientStated reports whether the client states the cost.
func (c *Cost) ClientStated() bool { return c.from.source.isClient() }
