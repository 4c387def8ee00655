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

// secondsPerDay are those of a date. A day by the clocks may have others.
const secondsPerDay = 24 * 60 * 60

// Calendar lets fixed windows begin at midnight in a time zone. A day is
// shorter or longer when the zone's clocks change.
type Calendar struct {
	Unit     Unit
	Location *time.Location
	// Anchor is the day on which months start, from 1 to 31; 0 stands for 1. A
	// month without that day starts on its last one: for 31, the windows start on
	// 31 January, 28 February and 31 March.
	Anchor int
}

// Nominal returns the length of a window as a rule file states it: 30 days for
// a month.
func (c *Calendar) Nominal() time.Duration { return nominal[c.Unit] }

func (c *Calendar) valid() bool {
	return int(c.Unit) < len(nominal) && c.Location != nil && c.Anchor >= 0 && c.Anchor <= 31 && (c.Unit == Month || c.Anchor == 0)
}

// start returns when a window begins: the first moment at which the zone's
// clocks show its date or a later one. That is midnight, or 01:00 if the clocks
// skip the hour before, or the first midnight of two. A window whose dates are
// all skipped begins when the next one does, and contains no time.
//
// A later window has a later date, so it never begins earlier. Windows therefore
// follow each other without a gap, whatever the clocks do.
func (c *Calendar) start(window int64) time.Time {
	midnight := c.opens(window) * secondsPerDay // as the clocks show it
	t := time.Unix(midnight-secondsPerDay, 0)   // no zone is a day ahead of UTC
	for {
		local := t.In(c.Location)
		_, offset := local.Zone()
		_, change := local.ZoneBounds()
		if !change.IsZero() && !change.After(t) { // Go's leap years end on 31 December, at 00:00 in UTC
			change = time.Unix((floor(t.Unix(), secondsPerDay)+1)*secondsPerDay, 0)
		}
		t = time.Unix(max(t.Unix(), midnight-int64(offset)), 0)
		if change.IsZero() || t.Before(change) {
			return t
		}
		t = change
	}
}

// windowAt returns the window that contains t, the last one that starts by
// then. It is that of its date, unless clocks were set back into the day before.
func (c *Calendar) windowAt(t time.Time) int64 {
	_, offset := t.In(c.Location).Zone()
	window := c.dated(floor(t.Unix()+int64(offset), secondsPerDay))
	for !c.start(window + 1).After(t) {
		window++
	}
	return window
}

// opens returns the first date of a window, in days from 1 January 1970. Window
// 0 is the day or week of that date, or the month that starts in January 1970.
func (c *Calendar) opens(window int64) int64 {
	switch c.Unit {
	case Week:
		return 7*window - 3 // 1 January 1970 was a Thursday
	case Month:
		last := time.Date(1970, time.February+time.Month(window), 0, 0, 0, 0, 0, time.UTC)
		return last.Unix()/secondsPerDay - int64(max(0, last.Day()-max(1, c.Anchor)))
	}
	return window
}

// dated returns the window of a date.
func (c *Calendar) dated(date int64) int64 {
	switch c.Unit {
	case Week:
		return floor(date+3, 7)
	case Month:
		year, month, day := time.Unix(date*secondsPerDay, 0).UTC().Date()
		window := int64(year-1970)*12 + int64(month-time.January)
		if day < c.Anchor && c.opens(window) > date { // a later day needs no look at the month's length
			window--
		}
		return window
	}
	return date
}
