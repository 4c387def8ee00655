package rules

import (
	"regexp"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/limit"
)

// units are the windows that a calendar has. 1d is one where a timezone goes with it; without, it is 24 hours like any
// other length of time, which for a fixed window comes to the days of UTC.
var units = map[string]limit.Unit{"1d": limit.Day, "1w": limit.Week, "1mo": limit.Month}

// window decodes a window: a length of time, or 1w or 1mo, which no plain length stands for.
func (d *decoder) window(s *stated) {
	l := &s.limit
	text := ""
	if n, ok := s.window.node.(*ast.StringNode); ok {
		text = n.Value
	}
	unit, ok := units[text]
	if !ok || unit == limit.Day {
		besides := ""
		if l.Algorithm == limit.FixedWindow {
			besides = ", or the calendar's 1w or 1mo"
		}
		l.Window = d.duration(s.window, besides)
		return
	}
	c := limit.Calendar{Unit: unit, Location: time.UTC}
	switch {
	case l.Algorithm == limit.FixedWindow:
		l.Calendar, l.Window = &c, c.Nominal()
	case !s.bad:
		d.fail(s.window, "a %s does not follow the calendar: write %dd, or algorithm: %s", l.Algorithm, c.Nominal()/day, limit.FixedWindow)
	}
}

// calendar decodes where and when the windows of a fixed window begin.
func (d *decoder) calendar(s *stated) {
	l := &s.limit
	if s.timezone.node != nil {
		d.localWindow(s)
	}
	if s.anchor.node == nil {
		return
	}
	if l.Calendar == nil || l.Calendar.Unit != limit.Month {
		d.fail(s.anchor, "is the day on which months start: write window: 1mo, or remove anchor")
		return
	}
	l.Calendar.Anchor = d.anchor(s.anchor)
}

// localWindow puts a calendar window where its timezone says. Days in UTC are plain ones, and share their counters.
func (d *decoder) localWindow(s *stated) {
	l := &s.limit
	location := d.location(s.timezone)
	if n, ok := s.window.node.(*ast.StringNode); ok && n.Value == "1d" {
		l.Calendar = &limit.Calendar{Unit: limit.Day}
	}
	switch {
	case l.Calendar == nil && l.Window != 0:
		d.fail(s.timezone, "goes with the windows 1d, 1w and 1mo: write one of them, or remove timezone")
	case l.Calendar == nil:
	case l.Calendar.Unit == limit.Day && location == time.UTC:
		l.Calendar = nil
	default:
		l.Calendar.Location = location
	}
}

// zoneName is the form of names in the IANA time zone database. Systems keep more in the same place under lower-case
// names, such as zones with leap seconds, which other systems do not have.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

func (d *decoder) location(v value) *time.Location {
	name, ok := d.text(v, "Europe/Berlin")
	if !ok {
		return time.UTC
	}
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" || !zoneName.MatchString(name) {
		d.fail(v, "unknown timezone %q: write a name of the IANA time zone database, such as Europe/Berlin or UTC", name)
		return time.UTC
	}
	return location
}

// anchor returns 0 for what it has reported.
func (d *decoder) anchor(v value) int {
	if _, ok := v.node.(*ast.MappingNode); ok {
		d.fail(v, "a day from the request is not supported yet: write a day of the month from 1 to 28")
		return 0
	}
	day, _ := d.integer(v, 1, 28) // every month has these
	return int(day)
}
