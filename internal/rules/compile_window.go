package rules

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// units are the windows of the calendar that are no plain length of time. 1d is
// a calendar's only if a timezone goes with it: the days of UTC are 24 hours.
var units = map[string]limit.Unit{"1w": limit.Week, "1mo": limit.Month}

func (c *compiler) window(path string, d *ruledoc.Limit, l *limit.Limit) {
	path += ".window"
	unit, ok := units[d.Window]
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
		c.fail(path, "a %s does not follow the calendar: write %s, or algorithm: %s",
			l.Algorithm, ruledoc.FormatDuration(calendar.Nominal()), limit.FixedWindow)
	}
}

// calendar compiles where and when the windows of a fixed window begin. Days in
// UTC are plain lengths of time, and share their counters.
func (c *compiler) calendar(path string, d *ruledoc.Limit, l *limit.Limit) {
	if l.Window == 0 {
		return
	}
	if d.Timezone != "" {
		location := c.location(path+".timezone", d.Timezone)
		if d.Window == "1d" && location != time.UTC {
			l.Calendar = &limit.Calendar{Unit: limit.Day}
		}
		if l.Calendar != nil {
			l.Calendar.Location = location
		} else if d.Window != "1d" {
			c.fail(path+".timezone", "goes with the windows 1d, 1w and 1mo: write one of them, or remove timezone")
		}
	}
	switch {
	case d.Anchor == nil:
	case l.Calendar == nil || l.Calendar.Unit != limit.Month:
		c.fail(path+".anchor", "is the day on which months start: write window: 1mo, or remove anchor")
	default:
		l.Calendar.Anchor = int(d.Anchor.Day)
	}
}

// zoneName is the form of names in the IANA time zone database. Systems keep
// more in the same place under lower-case names, such as zones with leap
// seconds, which other systems do not have.
var zoneName = ruledoc.Regexp(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

func (c *compiler) location(path, name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" || !zoneName().MatchString(name) {
		c.fail(path, "unknown timezone %q: write a name of the IANA time zone database, such as Europe/Berlin or UTC", name)
		return time.UTC
	}
	return location
}

// noDefault says what to write for a window that has no default granularity.
func noDefault(window time.Duration) string {
	if window%ruledoc.MinWindow != 0 {
		return fmt.Sprintf("%s is no whole multiple of %s: write one that is, or state the granularity",
			ruledoc.FormatDuration(window), ruledoc.FormatDuration(ruledoc.MinWindow))
	}
	return fmt.Sprintf("%s does not divide into %d to %d even slots: state the granularity, such as granularity: %s, "+
		"or write a rounder window", ruledoc.FormatDuration(window), ruledoc.MinDefaultSlots, ruledoc.MaxDefaultSlots,
		NearestGranularity(window, window/ruledoc.MaxDefaultSlots))
}

// NearestGranularity returns the width of slots nearest to g that a window can
// be cut into, in whole tenths of a second if the window is such. There always
// is one: the window itself.
func NearestGranularity(window, g time.Duration) string {
	unit := ruledoc.MinWindow
	if window%unit != 0 {
		unit = 1
	}
	wanted := min(window/g, limit.MaxSlots)
	for away := time.Duration(0); ; away++ {
		for _, k := range []time.Duration{wanted - away, wanted + away} {
			if k >= 1 && k <= limit.MaxSlots && window%(k*unit) == 0 && window/k >= ruledoc.MinWindow {
				return ruledoc.FormatDuration(window / k)
			}
		}
	}
}
