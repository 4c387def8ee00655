package rules

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/limit"
)

// stated is what a document says of a limit, and where: what its fields mean together depends on the algorithm.
type stated struct {
	limit limit.Limit
	bad   bool // the algorithm is none that is known
	cost  *cost
	clamp bool

	capacity, burst, queue, window, granularity, timezone, anchor value
}

// charge is a limit, and what a request costs there.
type charge struct {
	limit limit.Limit
	units int64
	queue value // where that stands, or the limit if it does not say
}

// limit decodes a limit and the cost of a request, which is the rule's unless the limit has its own.
func (d *decoder) limit(v value, own *cost, named bool, taken names) charge {
	s := stated{cost: own}
	if d.object(v, d.limitFields(&s, named, taken)) && !s.bad {
		d.check(&s)
	}
	if s.queue.node == nil {
		s.queue = v
	}
	return charge{s.limit, d.units(v, &s), s.queue}
}

func (d *decoder) limitFields(s *stated, named bool, taken names) []field {
	l := &s.limit
	fields := []field{
		{name: "name", decode: func(v value) { l.Name = d.name(v, limitName, 31, taken) }},
		{name: "algorithm", decode: func(v value) {
			i, ok := d.choice(v, limit.Algorithms())
			l.Algorithm, s.bad = limit.Algorithm(i), !ok
		}},
		{name: "capacity", decode: func(v value) { s.capacity = v; l.Capacity, _ = d.integer(v, 1, limit.MaxCapacity) },
			missing: "write how many units a window holds, such as capacity: 100"},
		{name: "burst", decode: func(v value) { s.burst = v }},
		{name: "queue", decode: func(v value) { s.queue = v }},
		{name: "window", decode: func(v value) { s.window = v; d.window(s) },
			missing: "write a length of time, such as window: 60s"},
		{name: "timezone", decode: func(v value) { s.timezone = v }},
		{name: "anchor", decode: func(v value) { s.anchor = v }},
		{name: "granularity", decode: func(v value) { s.granularity = v }},
		{name: "cost", decode: func(v value) { s.cost = d.cost(v) }},
		{name: "over", decode: func(v value) { _, s.clamp = d.choice(v, []string{"clamp"}) }},
	}
	if named {
		fields[0].missing = "one of several limits needs a name, such as name: requests"
	}
	return fields
}

// duration returns 0 for what it has reported. Besides says what else could be written there.
func (d *decoder) duration(v value, besides string) time.Duration {
	if _, ok := v.node.(*ast.IntegerNode); ok {
		d.fail(v, "needs a unit: write %ss for seconds", v.at.Value)
		return 0
	}
	text, ok := d.text(v, "60s")
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

// check puts the fields of a limit together, and decides what the document leaves open.
func (d *decoder) check(s *stated) {
	d.refuseMisplaced(s)
	l := &s.limit
	switch l.Algorithm {
	case limit.SlidingWindow:
		d.slots(s)
	case limit.FixedWindow:
		d.calendar(s)
		l.Granularity = l.Window
	case limit.SlidingWindowCounter:
		l.Granularity = l.Window
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
		if l.Capacity > limit.MaxLog {
			d.fail(s.capacity, "a %s keeps every request, and %d is the most: lower it, or write algorithm: %s", l.Algorithm,
				limit.MaxLog, limit.SlidingWindow)
		}
	case limit.TokenBucket:
		d.bucket(s, s.burst)
	case limit.LeakyBucket:
		d.bucket(s, s.queue)
	}
}

// slots checks how the window is cut into slots, or decides it where the document does not say.
func (d *decoder) slots(s *stated) {
	l := &s.limit
	if s.granularity.node == nil {
		if l.Granularity = defaultGranularity(l.Window); l.Granularity == 0 && l.Window != 0 {
			d.fail(s.window, "%s", noDefault(l.Window))
		}
		return
	}
	l.Granularity = d.duration(s.granularity, "")
	if l.Window == 0 || l.Granularity == 0 {
		return
	}
	if problem := checkGranularity(l.Window, l.Granularity); problem != "" {
		d.fail(s.granularity, "%s", problem)
	}
}

// bucket decides what a bucket or a queue holds: as much as its capacity, where the document does not say.
func (d *decoder) bucket(s *stated, holds value) {
	l := &s.limit
	l.Burst = l.Capacity
	if holds.node != nil {
		l.Burst, _ = d.integer(holds, 1, limit.MaxCapacity)
	}
	switch {
	case l.Capacity == 0 || l.Window == 0:
	case time.Duration(l.Capacity) > l.Window:
		d.fail(s.capacity, "%d in %s is more than one unit in a nanosecond, faster than a bucket counts: write at most %d",
			l.Capacity, formatDuration(l.Window), l.Window)
	case l.Burst > int64(limit.MaxDrain/l.Interval()):
		d.fail(holds, "at %d in %s, %d take more than ten years: write at most %d", l.Capacity, formatDuration(l.Window), l.Burst,
			limit.MaxDrain/l.Interval())
	}
}

// units returns what a request takes from the limit: one unit, where neither rule nor limit says. A cost above what the
// limit holds could never be allowed.
func (d *decoder) units(v value, s *stated) int64 {
	most := s.limit.Most()
	switch {
	case s.cost == nil:
		return 1
	case s.bad || most == 0 || s.cost.units <= most:
		return s.cost.units
	case s.clamp:
		return most
	}
	d.fail(s.cost.at, "%d is above the %s %d of %s, so no request would ever be allowed: "+
		"lower the cost, raise the %[2]s, or write over: clamp in the limit", s.cost.units, holder(s.limit.Algorithm), most, v.path)
	return s.cost.units
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
