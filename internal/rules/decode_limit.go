package rules

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/limit"
)

// limit decodes a limit and the cost of a request, which is the rule's unless the limit has its own.
func (d *decoder) limit(v value, own *cost, named bool, taken names) (limit.Limit, int64) {
	l := limit.Limit{Algorithm: limit.SlidingWindow}
	c := own
	var window, granularity value
	fields := []field{
		{name: "name", decode: func(v value) { l.Name = d.name(v, limitName, 31, taken) }},
		{name: "algorithm", decode: func(v value) { l.Algorithm = d.algorithm(v) }},
		{name: "capacity", decode: func(v value) { l.Capacity, _ = d.integer(v, 1, limit.MaxCapacity) },
			missing: "write how many units a window holds, such as capacity: 100"},
		{name: "window", decode: func(v value) { window = v; l.Window = d.duration(v) },
			missing: "write a length of time, such as window: 60s"},
		{name: "granularity", decode: func(v value) { granularity = v; l.Granularity = d.duration(v) }},
		{name: "cost", decode: func(v value) { c = d.cost(v) }},
	}
	if named {
		fields[0].missing = "one of several limits needs a name, such as name: requests"
	}
	if d.object(v, fields) {
		d.slots(&l, window, granularity)
	}
	return l, d.units(v, &l, c)
}

func (d *decoder) algorithm(v value) limit.Algorithm {
	names := limit.Algorithms()
	i, _ := d.choice(v, names)
	a, _ := limit.ParseAlgorithm(names[i])
	return a
}

// duration returns 0 for what it has reported.
func (d *decoder) duration(v value) time.Duration {
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
		d.fail(v, "%q is no length of time: write numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d", text)
		return 0
	}
	if length < minGranularity || length > maxWindow {
		d.fail(v, "%s is out of range: write %s to %dd", text, formatDuration(minGranularity), maxWindow/day)
		return 0
	}
	return length
}

// slots checks how the window is cut into slots, or decides it where the document does not say.
func (d *decoder) slots(l *limit.Limit, window, granularity value) {
	switch {
	case l.Window == 0:
	case l.Algorithm == limit.FixedWindow && granularity.node != nil:
		d.fail(granularity, "a fixed_window is one slot as wide as its window: remove granularity")
	case l.Algorithm == limit.FixedWindow:
		l.Granularity = l.Window
	case granularity.node == nil:
		if l.Granularity = defaultGranularity(l.Window); l.Granularity == 0 {
			d.fail(window, "%s", noDefault(l.Window))
		}
	case l.Granularity != 0:
		if problem := checkGranularity(l.Window, l.Granularity); problem != "" {
			d.fail(granularity, "%s", problem)
		}
	}
}

// units returns what a request takes from the limit: one unit, where neither rule nor limit says. A cost above the
// capacity could never be allowed.
func (d *decoder) units(v value, l *limit.Limit, c *cost) int64 {
	if c == nil {
		return 1
	}
	if l.Capacity > 0 && c.units > l.Capacity {
		d.fail(c.at, "%d is above the capacity %d of %s, so no request would ever be allowed: lower the cost or raise the capacity",
			c.units, l.Capacity, v.path)
	}
	return c.units
}
