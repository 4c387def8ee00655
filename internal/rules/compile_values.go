package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// valueLimits compiles limits that a Go program states by values, and puts them
// in the order of their names.
func (c *compiler) valueLimits(path problem.Path, stated []limit.Limit, in limitContext) (charges []charge) {
	if len(stated) > limit.MaxLimits {
		c.fail(path, problem.Count, len(stated), "limits", 1, limit.MaxLimits)
		return nil
	}
	taken := map[string]problem.Path{}
	for i, l := range stated {
		at := path.At(i)
		if l.Name == "" && len(stated) > 1 {
			l.Name = ruledoc.LimitName(windowText(&l))
		}
		c.name(at, "name", l.Name, limitName, taken)
		c.valueWindow(at, &l)
		c.valueSize(at, &l)
		field, wrong := outOfRange(&l)
		c.check(at.To(field), wrong)
		charges = append(charges, charge{path: at, place: i, limit: l, cost: c.price(at, &ruledoc.Limit{}, &l, in)})
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
	return charges
}

// windowText returns the window as a document would state it.
func windowText(l *limit.Limit) string {
	if l.Calendar != nil {
		for text, unit := range calendarUnits {
			if unit == l.Calendar.Unit {
				return text
			}
		}
		return "1d"
	}
	return ruledoc.FormatDuration(l.Window)
}

// valueWindow checks the window of a limit and completes its slots. A window that
// is wrong becomes 0.
func (c *compiler) valueWindow(path problem.Path, l *limit.Limit) {
	within := func(d time.Duration) bool { return ruledoc.MinWindow <= d && d <= ruledoc.MaxWindow }
	switch {
	case l.Calendar != nil:
		c.valueCalendar(path.To("anchor"), l)
	case !within(l.Window):
		c.check(path.To("window"), outOfBounds(ruledoc.FormatDuration(l.Window)))
		l.Window = 0
	}
	width := l.Granularity
	if l.Granularity = l.Window; l.Algorithm == limit.SlidingWindowLog {
		l.Granularity = limit.Exact
	} else if l.Bucket() {
		l.Granularity = 0
	}
	switch {
	case l.Algorithm != limit.SlidingWindow && width != 0:
		c.fail(path.To("granularity"), problem.NotOfAlgorithm, algorithm(l.Algorithm), problem.Field("granularity"), "remove it", algorithm(limit.SlidingWindow))
	case l.Algorithm != limit.SlidingWindow || l.Window == 0:
	case width == 0:
		if l.Granularity = ruledoc.DefaultGranularity(l.Window); l.Granularity == 0 {
			c.check(path.To("window"), noDefault(l.Window))
		}
	case !within(width):
		l.Granularity = 0
		c.check(path.To("granularity"), outOfBounds(ruledoc.FormatDuration(width)))
	default:
		l.Granularity = width
	}
}

// valueCalendar completes the calendar of a limit. Days in UTC are plain lengths
// of time, and share their counters.
func (c *compiler) valueCalendar(path problem.Path, l *limit.Limit) {
	calendar := *l.Calendar
	switch {
	case l.Algorithm != limit.FixedWindow || calendar.Anchor != 0 && calendar.Unit != limit.Month:
		c.fail(path, problem.NotOfMonths)
	case calendar.Anchor < 0 || calendar.Anchor > 28:
		c.fail(path, problem.OutOfRange, calendar.Anchor, 1, 28)
	}
	if calendar.Location == nil {
		calendar.Location = time.UTC
	}
	l.Window, l.Calendar = calendar.Nominal(), &calendar
	if calendar.Unit == limit.Day && calendar.Location == time.UTC {
		l.Calendar = nil
	}
}

// valueSize checks the capacity of a limit and the size of a bucket. What is
// wrong becomes 0.
func (c *compiler) valueSize(path problem.Path, l *limit.Limit) {
	size := SizeField(l.Algorithm)
	if l.Capacity < 1 || l.Capacity > limit.MaxCapacity {
		c.fail(path.To("capacity"), problem.OutOfRange, l.Capacity, 1, int64(limit.MaxCapacity))
		l.Capacity = 0
	}
	switch {
	case !l.Bucket():
	case l.Burst == 0:
		l.Burst = l.Capacity
	case l.Burst < 0 || l.Burst > limit.MaxCapacity:
		c.fail(path.To(size), problem.OutOfRange, l.Burst, 1, int64(limit.MaxCapacity))
		l.Burst = 0
	}
}
