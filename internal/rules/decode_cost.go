package rules

import "github.com/slidegate/slidegate/internal/limit"

// cost is what a document says that a request takes, and where.
type cost struct {
	Cost
	at value
}

var costForm = either(number(0, limit.MaxCapacity), mapOf(func() []field { return new(decoder).costFields(&statedCost{}) })).named("cost")

// statedCost is what a document says of a cost that requests state, and where.
type statedCost struct {
	Cost
	from, min, max value
}

func (d *decoder) costFields(s *statedCost) []field {
	c := &s.Cost
	return []field{
		{name: "from", doc: "Where a request states its cost: header.NAME, query.NAME, path.NAME or jwt.NAME.", at: &s.from,
			form: text("header.x-tokens"), decode: func(v value) { c.from = d.costSource(v) },
			missing: "write where requests state their cost, such as from: header.x-tokens"},
		{name: "min", doc: "The least that a request costs, whatever it states; a client that lies pays this, so where a client states the cost it is 1 or more.", at: &s.min,
			form: number(0, limit.MaxCapacity), decode: func(v value) { c.min, _ = d.integer(v) }},
		{name: "max", doc: "The most that a request costs, and the cost of one that states none or nothing readable.", at: &s.max,
			form: number(1, limit.MaxCapacity), decode: func(v value) { c.max, _ = d.integer(v) },
			missing: "write the most that a request may cost, which is what counts where none is stated"},
		{name: "settle", doc: "true: the backend tells the true cost once it is known, and the charge is corrected.",
			form: trueOrFalse(), decode: func(v value) { c.Settle = d.boolean(v) }},
	}
}

// cost returns nil for what it has reported.
func (d *decoder) cost(v value) *cost {
	if v.isMap() {
		return d.statedCost(v)
	}
	units, ok := d.integer(v)
	if !ok {
		return nil
	}
	return &cost{Fixed(units), v}
}

func (d *decoder) statedCost(v value) *cost {
	s := statedCost{}
	before := len(d.errors)
	d.object(v, d.costFields(&s))
	switch {
	case s.from.stated() && s.Cost.from.source.isClient() && !s.min.stated():
		d.fail(v, "min is missing: %s is the client's own word, so write the least that a request costs, which is what a liar pays",
			s.Cost.from.spell())
	case s.min.stated() && s.Cost.from.source.isClient() && s.Cost.min == 0 && len(d.errors) == before:
		d.fail(s.min, "is 0, and %s is the client's own word, so one that states 0 would never be limited: write 1 or more",
			s.Cost.from.spell())
	case s.min.stated() && s.max.stated() && s.Cost.min > s.Cost.max && len(d.errors) == before:
		d.fail(s.min, "%d is above max, which is %d: lower it", s.Cost.min, s.Cost.max)
	}
	if len(d.errors) > before {
		return nil
	}
	return &cost{s.Cost, v}
}

func (d *decoder) costSource(v value) part {
	text, ok := d.text(v)
	if !ok {
		return part{}
	}
	p, ok := d.source(v, text)
	switch {
	case !ok:
		return part{}
	case p.source != fromHeader && p.source != fromQuery && p.source != fromPath && p.source != fromClaim:
		d.fail(v, "%s states no number: write a header, a parameter or a claim, such as header.x-tokens", text)
	}
	return p
}

// price returns what a request takes from the limit: the limit's own cost, else the rule's, else one unit; from the limit
// of an override, else what the rule says. A cost that no request could ever pay is an error.
func (d *decoder) price(v value, s *stated, in *setting) Cost {
	if s.cost == nil {
		return Cost{Units: 1, Clamp: s.clamp, inherited: in.override}
	}
	c := s.cost.Cost
	c.Clamp = s.clamp
	if s.bad {
		return c
	}
	if c.Settle && !s.limit.Correctable() {
		d.fail(s.cost.at, "%s is a %s, which cannot be corrected afterwards: remove settle, or write algorithm: %s there",
			v.path, s.limit.Algorithm, limit.SlidingWindow)
	}
	if most := s.limit.Most(); most != 0 && c.unpayable(most) {
		d.fail(s.cost.at, "%d is above the %s %d of %s, so no request would ever be allowed: "+
			"lower the cost, raise the %[2]s, or write over: clamp in the limit", c.least(), holder(s.limit.Algorithm), most, v.path)
	}
	return c
}

// holder names the field that says what a limit holds.
func holder(a limit.Algorithm) string {
	switch a {
	case limit.TokenBucket:
		return "burst"
	case limit.LeakyBucket:
		return "queue"
	}
	return "capacity"
}
