package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/limit"
)

// setting is what is around a limit.
type setting struct {
	cost     *cost // of the rule; nil for none
	several  bool  // limits stand together, and need names
	override bool  // they are an override's
	taken    names
}

// stated is what a document says of a limit, and where: what its fields mean together depends on the algorithm.
type stated struct {
	limit     limit.Limit
	bad       bool // the algorithm is none that is known
	cost      *cost
	clamp     bool
	candidate Candidate
	anchored  part // where the day of the anchor comes from; a literal where it is fixed

	algorithm, capacity, burst, queue, window, granularity, timezone, anchor, trial value
}

// charge is a limit, what a request costs there, and where they stand.
type charge struct {
	stated
	price     Cost
	at, holds value // the limit, and what says how much may wait
}

var limitForm = mapOf(func() []field { return new(decoder).limitFields(&stated{}, &setting{}) }).named("limit")

// overrideLimitForm has neither what is tried nor what a request decides: an override is about one key.
var overrideLimitForm = mapOf(func() []field { return new(decoder).limitFields(&stated{}, &setting{override: true}) }).named("overrideLimit")

// limitsOf is a list of as many limits as a rule can have.
func limitsOf(limits form) form {
	return listOf(limits, "[{capacity: 10, window: 60s}]").between(1, limit.MaxLimits)
}

// limits decodes a list of limits and puts them in the order of their names.
func (d *decoder) limits(v value, own *cost, override bool) []charge {
	values := d.list(v)
	if f := v.form.as(aList); v.isList() && (len(values) < int(f.least) || len(values) > int(f.most)) {
		d.fail(v, "holds %d limits: write %d to %d", len(values), f.least, f.most)
	}
	in := &setting{cost: own, several: len(values) > 1, override: override, taken: names{}}
	charges := make([]charge, len(values))
	for i, v := range values {
		charges[i] = d.limit(v, in)
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
	return charges
}

func (d *decoder) limit(v value, in *setting) charge {
	s := stated{cost: in.cost}
	if d.object(v, d.limitFields(&s, in)) {
		d.window(&s)
		if !s.bad {
			d.check(&s)
		}
	}
	queue := s.queue
	if !queue.stated() {
		queue = v
	}
	return charge{s, d.price(v, &s, in), v, queue}
}

func (d *decoder) limitFields(s *stated, in *setting) []field {
	l := &s.limit
	day := number(1, 28)
	fields := []field{
		{name: "name", doc: "The limit's name, which each of several limits needs.",
			form: textLike(limitName, "requests"), decode: func(v value) { l.Name = d.name(v, 31, in.taken) }},
		{name: "algorithm", doc: "How it counts: sliding_window, unless the window is the calendar's.", at: &s.algorithm,
			form: oneOf(limit.Algorithms()), decode: func(v value) { i, ok := d.choice(v); l.Algorithm, s.bad = limit.Algorithm(i), !ok }},
		{name: "capacity", doc: "How many units a window holds.", at: &s.capacity,
			form: number(1, limit.MaxCapacity), decode: func(v value) { l.Capacity, _ = d.integer(v) },
			missing: "write how many units a window holds, such as capacity: 100"},
		{name: "burst", doc: "What a token_bucket holds; its capacity unless said.", at: &s.burst, form: number(1, limit.MaxCapacity)},
		{name: "queue", doc: "What a leaky_bucket lets wait; its capacity unless said.", at: &s.queue, form: number(1, limit.MaxCapacity)},
		{name: "window", doc: "A length of time, such as 60s, 1m30s or 1d; of a fixed_window also the calendar's 1w and 1mo.", at: &s.window,
			form: text("60s"), missing: "write a length of time, such as window: 60s"},
		{name: "timezone", doc: "Where the windows 1d, 1w and 1mo begin at midnight, such as Europe/Berlin.", at: &s.timezone,
			form: text("Europe/Berlin")},
		{name: "anchor", doc: "The day of the month, 1 to 28, on which months start, or the claim that says which.", at: &s.anchor,
			form: either(day, mapOf(func() []field { return d.anchorFields(&s.anchored, new(int64)) }))},
		{name: "granularity", doc: "The width of a sliding_window's slots: more slots waste less room and take more state.", at: &s.granularity,
			form: text("1s")},
		{name: "cost", doc: "Units that a request takes from this limit; the rule's cost unless said.",
			form: costForm, decode: func(v value) { s.cost = d.cost(v) }},
		{name: "over", doc: "clamp: a cost above what the limit can ever allow takes all that it holds.",
			form: oneOf([]string{"clamp"}), decode: func(v value) { _, s.clamp = d.choice(v) }},
		{name: "candidate", doc: "A capacity on trial, in units or percent: decisions say what it would have changed.", at: &s.trial,
			form: either(number(1, limit.MaxCapacity), textLike(percent, "80%")), decode: func(v value) { s.candidate = d.candidate(v) }},
	}
	if in.several {
		fields[0].missing = "one of several limits needs a name, such as name: requests"
	}
	if in.override {
		fields = allBut(fields, "candidate")
		fields[slices.IndexFunc(fields, func(f field) bool { return f.name == "anchor" })].form = day
	}
	return fields
}

// duration returns 0 for what it has reported. Besides says what else could be written there.
func (d *decoder) duration(v value, besides string) time.Duration {
	if _, ok := v.node.(*ast.IntegerNode); ok {
		d.fail(v, "needs a unit: write %ss for seconds", v.at.Value)
		return 0
	}
	text, ok := d.text(v)
	if !ok {
		return 0
	}
	length, ok := parseDuration(text)
	if !ok {
		d.fail(v, "%q is no length of time: write numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d%s", text, besides)
		return 0
	}
	if length < minGranularity || length > maxWindow {
		d.fail(v, "%s is out of range: write %s to %dd", text, formatDuration(minGranularity), maxWindow/day)
		return 0
	}
	return length
}
