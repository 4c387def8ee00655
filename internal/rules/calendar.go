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

// unit returns the calendar's window that a limit states.
func (s *stated) unit() (unit limit.Unit, ok bool) {
	if n, isText := s.window.node.(*ast.StringNode); isText {
		unit, ok = units[n.Value]
	}
	return unit, ok
}

// window decodes a window: a length of time, or 1w or 1mo, which no plain length stands for. One that only a fixed window
// can have makes the limit one, unless the document says otherwise.
func (d *decoder) window(s *stated) {
	if !s.window.stated() {
		return
	}
	l := &s.limit
	unit, ok := s.unit()
	if ok && !s.algorithm.stated() && (unit != limit.Day || s.timezone.stated()) {
		l.Algorithm = limit.FixedWindow
	}
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
	if s.timezone.stated() {
		d.localWindow(s)
	}
	if !s.anchor.stated() {
		return
	}
	if l.Calendar == nil || l.Calendar.Unit != limit.Month {
		d.fail(s.anchor, "is the day on which months start: write window: 1mo, or remove anchor")
		return
	}
	l.Calendar.Anchor = d.anchor(s)
}

// localWindow puts a calendar window where its timezone says. Days in UTC are plain ones, and share their counters.
func (d *decoder) localWindow(s *stated) {
	l := &s.limit
	location := d.location(s.timezone)
	if unit, ok := s.unit(); ok && unit == limit.Day {
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
	name, ok := d.text(v)
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

func (d *decoder) anchorFields(from *part, day *int64) []field {
	return []field{
		{name: "from", doc: "The claim that holds the day of the month, such as jwt.billing_day.",
			form: text("jwt.billing_day"), decode: func(v value) {
				if text, ok := d.text(v); ok {
					*from, _ = d.trustedSource(v, text)
				}
			},
			missing: "write the claim that holds the day, such as from: jwt.billing_day"},
		{name: "default", doc: "The day for requests that do not say, or not a day from 1 to 28; 1 unless said.",
			form: number(1, 28), decode: func(v value) { *day, _ = d.integer(v) }},
	}
}

// anchor returns the day on which months start, where no request says otherwise; 0 for what it has reported.
func (d *decoder) anchor(s *stated) int {
	if s.anchor.isMap() && s.anchor.form.as(aMap).fields != nil {
		day := int64(1)
		d.object(s.anchor, d.anchorFields(&s.anchored, &day))
		return int(day)
	}
	day, _ := d.integer(s.anchor) // every month has these
	return int(day)
}
