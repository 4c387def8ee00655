package limit

import "time"

// Unit is the length of a calendar's windows.
type Unit uint8

// The units of a calendar.
const (
	Day   Unit = iota
	Week       // starts on Monday
	Month      // starts on the calendar's anchor
)

var nominal = [...]time.Duration{Day: 24 * time.Hour, Week: 7 * 24 * time.Hour, Month: 30 * 24 * time.Hour}

// Calendar lets fixed windows begin at midnight in a time zone. A day is an
// hour or two shorter or longer when the zone's clocks change.
type Calendar struct {
	Unit     Unit
	Location *time.Location
	Anchor   int // day of the month on which months start, from 1 to 28; 0 stands for 1
}

// Nominal returns the length of a window as a rule file states it: 30 days for
// a month.
func (c *Calendar) Nominal() time.Duration { return nominal[c.Unit] }

func (c *Calendar) valid() bool {
	return int(c.Unit) < len(nominal) && c.Location != nil && c.Anchor >= 0 && c.Anchor <= 28 && (c.Unit == Month || c.Anchor == 0)
}

// start returns when a window begins. Window 0 is the day, week or month of 1
// January 1970. If a change of clocks skips midnight, the day starts at the
// time that time.Date returns for it, an hour or two away.
func (c *Calendar) start(window int64) time.Time {
	n := int(window)
	switch c.Unit {
	case Week:
		return time.Date(1970, time.January, 7*n-2, 0, 0, 0, 0, c.Location) // from Monday, 29 December 1969
	case Month:
		return time.Date(1970, time.January+time.Month(n), max(1, c.Anchor), 0, 0, 0, 0, c.Location)
	}
	return time.Date(1970, time.January, 1+n, 0, 0, 0, 0, c.Location)
}

// windowAt returns the window that contains t: that of its date or, if months
// do not start on the 1st or clocks skip midnight, a neighbour.
func (c *Calendar) windowAt(t time.Time) int64 {
	window := c.dated(t.In(c.Location))
	switch {
	case c.start(window).After(t):
		return window - 1
	case !c.start(window + 1).After(t):
		return window + 1
	}
	return window
}

// dated returns the window of a date, as if months started on the 1st.
func (c *Calendar) dated(t time.Time) int64 {
	if c.Unit == Month {
		return int64(t.Year()-1970)*12 + int64(t.Month()-time.January)
	}
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	days := midnight.Unix() / (24 * 3600)
	if c.Unit == Week {
		return floor(days+3, 7) // 1 January 1970 was a Thursday
	}
	return days
}
