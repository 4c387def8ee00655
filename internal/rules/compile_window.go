package rules

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// calendarUnits are the windows of the calendar that are no plain length of time. 1d is
// a calendar's only if a timezone goes with it: the days of UTC are 24 hours.
var calendarUnits = map[string]limit.Unit{"1w": limit.Week, "1mo": limit.Month}

func (c *compiler) window(path problem.Path, d *ruledoc.Limit, l *limit.Limit) {
	path = path.To("window")
	unit, ok := calendarUnits[d.Window]
	if !ok {
		besides := ""
		if l.Algorithm == limit.FixedWindow {
			besides = ", or the calendar's 1w or 1mo"
		}
		l.Window = c.duration(path, d.Window, besides)
		return
	}
	calendar := limit.Calendar{Unit: unit, Location: time.UTC}
	if l.Algorithm == limit.FixedWindow {
		l.Calendar, l.Window = &calendar, calendar.Nominal()
	} else {
		c.fail(path, problem.Instead, fmt.Sprintf("a %s does not follow the calendar", l.Algorithm),
			ruledoc.FormatDuration(calendar.Nominal())+", or algorithm: fixed_window")
	}
}

// calendar compiles where and when the windows of a fixed window begin. Days in
// UTC are plain lengths of time, and share their counters.
func (c *compiler) calendar(path problem.Path, d *ruledoc.Limit, l *limit.Limit) {
	if l.Window == 0 {
		return
	}
	if d.Timezone != "" {
		location := c.location(path.To("timezone"), d.Timezone)
		if d.Window == "1d" && location != time.UTC {
			l.Calendar = &limit.Calendar{Unit: limit.Day}
		}
		if l.Calendar != nil {
			l.Calendar.Location = location
		} else if d.Window != "1d" {
			c.fail(path.To("timezone"), problem.Instead, "goes with the windows 1d, 1w and 1mo", "one of them, or remove timezone")
		}
	}
	switch {
	case d.Anchor == nil:
	case l.Calendar == nil || l.Calendar.Unit != limit.Month:
		c.fail(path.To("anchor"), problem.NotOfMonths)
	default:
		l.Calendar.Anchor = int(d.Anchor.Day)
	}
}

// zoneName is the form of names in the IANA time zone database. Systems keep
// more in the same place under lower-case names, such as zones with leap
// seconds, which other systems do not have.
var zoneName = ruledoc.Regexp(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

func (c *compiler) location(path problem.Path, name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" || !zoneName().MatchString(name) {
		c.fail(path, problem.UnknownZone, name)
		return time.UTC
	}
	return location
}

// noDefault says what to write for a window that has no default granularity.
func noDefault(window time.Duration) problem.Fault {
	text := ruledoc.FormatDuration(window)
	if window%ruledoc.MinWindow != 0 {
		return problem.New(problem.UnevenWindow, text, ruledoc.FormatDuration(ruledoc.MinWindow))
	}
	return problem.New(problem.NoDefaultSlots, text, ruledoc.MinDefaultSlots, ruledoc.MaxDefaultSlots,
		NearestGranularity(window, window/ruledoc.MaxDefaultSlots))
}
