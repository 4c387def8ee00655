package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// calendarUnits are the windows that a calendar may state. Without a timezone, 1d
// is 24 hours.
var calendarUnits = map[string]limit.Unit{"1d": limit.Day, "1w": limit.Week, "1mo": limit.Month}

// windowLength returns the length of a document's window: of 1mo, 30 days.
func windowLength(text string, a limit.Algorithm) (length time.Duration, wrong problem.Fault) {
	unit, ok := calendarUnits[text]
	nominal := (&limit.Calendar{Unit: unit}).Nominal()
	switch {
	case !ok && a == limit.FixedWindow:
		return duration(text, ", or the calendar's 1w or 1mo")
	case !ok:
		return duration(text, "")
	case unit == limit.Day || a == limit.FixedWindow:
		return nominal, wrong
	}
	return 0, problem.New(problem.Instead, "a "+a.String()+" does not follow the calendar",
		ruledoc.FormatDuration(nominal)+", or algorithm: fixed_window")
}

// duration reads the length of a window or a slot; "" is 0. besides names other
// values that the field allows.
func duration(text, besides string) (length time.Duration, wrong problem.Fault) {
	return boundedDuration(text, besides, ruledoc.MinWindow, ruledoc.MaxWindow)
}

// holdDuration reads how long a place or a reservation lasts; "" is 0.
func holdDuration(text string) (time.Duration, problem.Fault) {
	return boundedDuration(text, "", minHold, limit.MaxHold)
}

// minHold is the shortest time for which a place or a reservation lasts.
const minHold = time.Second

func boundedDuration(text, besides string, least, most time.Duration) (length time.Duration, wrong problem.Fault) {
	length, ok := ruledoc.ParseDuration(text)
	switch {
	case text == "":
		return 0, wrong
	case strings.Trim(text, "0123456789") == "":
		return 0, problem.New(problem.NeedsUnit, text)
	case !ok && ruledoc.MeantDuration(text) != "" && ruledoc.MeantDuration(text) != text: // not 1mo
		return 0, problem.New(problem.Malformed, strconv.Quote(text), "length of time", ruledoc.MeantDuration(text))
	case !ok:
		return 0, problem.New(problem.Malformed, strconv.Quote(text), "length of time",
			"numbers with units (ms, s, m, h or d), such as 60s, 1m30s or 1d"+besides)
	}
	return bounded(length, text, least, most)
}

// bounded returns a length of time, which its author writes like this, if it is in
// these bounds.
func bounded(length time.Duration, text string, least, most time.Duration) (time.Duration, problem.Fault) {
	if length < least || length > most {
		meant := ""
		if length > 0 && length < time.Millisecond { // such as 60 for time.Duration(60)
			meant = fmt.Sprintf(": write %d*time.Second", length)
		}
		return 0, problem.New(problem.OutOfBounds, text, ruledoc.FormatDuration(least), ruledoc.FormatDuration(most), meant)
	}
	return length, problem.Fault{}
}

// calendarOf returns where windows begin; nil for multiples of their length. Days
// in UTC are plain lengths of time, and share their counters.
func calendarOf(unit limit.Unit, zone *time.Location) *limit.Calendar {
	if unit == limit.Day && zone == time.UTC {
		return nil
	}
	return &limit.Calendar{Unit: unit, Location: zone}
}

// zoneName is the form of names in the IANA time zone database. Systems keep
// more in the same place under lower-case names, such as zones with leap
// seconds, which other systems do not have.
var zoneName = ruledoc.Regexp(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// zoneNamed returns the time zone of a name; UTC for one that is wrong.
func zoneNamed(name string) (zone *time.Location, wrong problem.Fault) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || !zoneName().MatchString(name) {
		return time.UTC, problem.New(problem.UnknownZone, name)
	}
	return zone, wrong
}

// setAnchor sets the day on which the months of a limit start, unless it is
// wrong.
func setAnchor(l *limit.Limit, day int) (wrong problem.Fault) {
	switch {
	case l.Calendar == nil || l.Calendar.Unit != limit.Month:
		return problem.New(problem.NotOfMonths)
	case day < 1 || day > 31:
		return problem.New(problem.OutOfRange, day, 1, 31)
	}
	l.Calendar.Anchor = day
	return wrong
}

// setSlots sets the width of the slots. stated is the width that the author
// states: nil for the default, 0 for one that is wrong. A fault is one of the
// field, as of uncountable.
func setSlots(l *limit.Limit, stated *time.Duration) (field string, wrong problem.Fault) {
	switch l.Algorithm {
	case limit.SlidingWindow:
		if stated != nil {
			l.Granularity = *stated
		} else if l.Granularity = ruledoc.DefaultGranularity(l.Window); l.Granularity == 0 && l.Window != 0 {
			return "window", noDefault(l.Window)
		}
	case limit.FixedWindow, limit.SlidingWindowCounter:
		l.Granularity = l.Window
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
	}
	return uncountable(l)
}

// noDefault says what to write for a window that has no default granularity.
func noDefault(window time.Duration) problem.Fault {
	text := ruledoc.FormatDuration(window)
	if window%ruledoc.MinWindow != 0 {
		return problem.New(problem.UnevenWindow, text, ruledoc.FormatDuration(ruledoc.MinWindow))
	}
	return problem.New(problem.NoDefaultSlots, text, ruledoc.MinDefaultSlots, ruledoc.MaxDefaultSlots,
		nearestGranularity(window, window/ruledoc.MaxDefaultSlots))
}

// uncountable returns the field of a limit that its algorithm cannot count, and
// what to write instead. There is no fault in a good limit, nor in one that
// lacks a field.
func uncountable(l *limit.Limit) (field string, wrong problem.Fault) {
	window, width := ruledoc.FormatDuration(l.Window), l.Granularity
	slots := func(code problem.Code) problem.Fault {
		return problem.New(code, window, ruledoc.FormatDuration(width), l.Window/width, limit.MaxSlots, nearestGranularity(l.Window, width))
	}
	switch {
	case l.Algorithm == limit.SlidingWindowLog && l.Capacity > limit.MaxLog:
		return "capacity", problem.New(problem.LogCapacity, l.Algorithm, limit.MaxLog, limit.SlidingWindow)
	case l.Algorithm == limit.InFlight && l.Capacity > limit.MaxHolds:
		return "capacity", problem.New(problem.OutOfRange, l.Capacity, 1, limit.MaxHolds)
	case l.Window == 0 || l.Bucket() && l.Capacity == 0:
	case l.Algorithm == limit.SlidingWindow && width != 0 && l.Window%width != 0:
		return "granularity", slots(problem.NotMultiple)
	case l.Algorithm == limit.SlidingWindow && width != 0 && l.Window/width > limit.MaxSlots:
		return "granularity", slots(problem.TooManySlots)
	case l.Bucket() && l.TooFast():
		return "capacity", problem.New(problem.TooFast, l.Capacity, window, l.Interval(), int64((l.Window+l.Interval()-1)/l.Interval()))
	case l.Bucket() && l.Burst > int64(limit.MaxDrain/l.Interval()):
		return SizeField(l.Algorithm), problem.New(problem.TooSlow, l.Capacity, window, l.Burst, int64(limit.MaxDrain/l.Interval()))
	}
	return "", wrong
}

// nearestGranularity returns the width of slots nearest to g that a window can
// be cut into, in whole tenths of a second if the window is such. There always
// is one: the window itself.
func nearestGranularity(window, g time.Duration) string {
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

// InFlight returns the index of the limit of requests that work at once; -1 for
// none.
func InFlight(limits []limit.Limit) int {
	return slices.IndexFunc(limits, func(l limit.Limit) bool { return l.Algorithm == limit.InFlight })
}

// SizeField names the field with the most that a limit can allow at once.
func SizeField(a limit.Algorithm) string {
	switch a {
	case limit.TokenBucket:
		return "burst"
	case limit.LeakyBucket:
		return "queue"
	}
	return "capacity"
}

// GoLimit is a limit as a Go program states it, right or wrong.
type GoLimit struct {
	Call      string // the function that made it, such as "SlidingWindow"; "" if none did
	Name      string // "" for that of the window
	Algorithm limit.Algorithm
	Capacity  int64
	Size      int64          // of a burst or a queue; 0 for the capacity
	Window    time.Duration  // of limits without a Zone
	Zone      *time.Location // of windows that follow the calendar; nil for others
	Unit      limit.Unit     // of that calendar
	Anchor    *int           // day on which months start; nil for the 1st
	Slots     *time.Duration // their width; nil for the default
}

// String returns the call that makes the limit, such as
// "SlidingWindow(100, 1m)".
func (p GoLimit) String() string {
	if p.Call == "" {
		return "Limit{}"
	}
	over := ruledoc.FormatDuration(p.Window)
	if p.Zone != nil {
		over = p.Zone.String()
	}
	call := fmt.Sprintf("%s(%d, %s)", p.Call, p.Capacity, over)
	if p.bucket() {
		call = fmt.Sprintf("%s(%d, %s, %d)", p.Call, p.Capacity, over, p.Size)
	}
	if p.Slots != nil {
		call += fmt.Sprintf(".WithSlots(%s)", ruledoc.FormatDuration(*p.Slots))
	}
	if p.Anchor != nil {
		call += fmt.Sprintf(".WithAnchor(%d)", *p.Anchor)
	}
	if p.Name != "" {
		call += fmt.Sprintf(".WithName(%q)", p.Name)
	}
	return call
}

func (p *GoLimit) bucket() bool { return SizeField(p.Algorithm) != "capacity" }

// windowText returns the window as a document would state it.
func (p *GoLimit) windowText() string {
	if p.Zone == nil {
		return ruledoc.FormatDuration(p.Window)
	}
	return [...]string{limit.Day: "1d", limit.Week: "1w", limit.Month: "1mo"}[p.Unit]
}

// units returns how many units a window allows, and how many a bucket holds. It
// reports what is wrong by the name of the field. A wrong number becomes 0.
func (p *GoLimit) units(report func(field string, wrong problem.Fault)) (capacity, burst int64) {
	units := func(field string, units int64, least string) int64 {
		switch {
		case units < 1:
			report(field, problem.New(problem.TooSmall, least))
		case units > limit.MaxCapacity:
			report(field, problem.New(problem.OutOfRange, units, 1, int64(limit.MaxCapacity)))
		default:
			return units
		}
		return 0
	}
	capacity = units("capacity", p.Capacity, "1")
	switch {
	case !p.bucket():
		return capacity, 0
	case p.Size == 0:
		return capacity, capacity
	}
	return capacity, units(SizeField(p.Algorithm), p.Size, "1, or 0 for n")
}

// length returns the length of the window.
func (p *GoLimit) length() (length time.Duration, wrong problem.Fault) {
	if p.Zone != nil {
		return (&limit.Calendar{Unit: p.Unit}).Nominal(), wrong
	}
	if same := p.sameRate(); same != "" {
		return 0, problem.New(problem.ShortBucket, ruledoc.FormatDuration(ruledoc.MinWindow), same)
	}
	if p.Algorithm == limit.InFlight {
		return bounded(p.Window, p.windowText(), minHold, limit.MaxHold)
	}
	return bounded(p.Window, p.windowText(), ruledoc.MinWindow, ruledoc.MaxWindow)
}

// sameRate writes a bucket with a window that is too short as one with a longer
// window, which means the same; it returns "" for other limits, and for a number
// that lacks its unit.
func (p GoLimit) sameRate() string {
	if !p.bucket() || p.Window < time.Millisecond || p.Window >= ruledoc.MinWindow || p.Capacity < 1 {
		return ""
	}
	p.Size = cmp.Or(p.Size, p.Capacity)
	for p.Window < ruledoc.MinWindow && p.Capacity <= limit.MaxCapacity {
		p.Window, p.Capacity = 10*p.Window, 10*p.Capacity
	}
	if l := (limit.Limit{Capacity: p.Capacity, Window: p.Window}); p.Capacity > limit.MaxCapacity || l.TooFast() {
		return ""
	}
	return p.String()
}

// width returns the width of slots that the program states, for setSlots.
func (p *GoLimit) width() (width *time.Duration, wrong problem.Fault) {
	switch {
	case p.Slots == nil:
	case p.Algorithm != limit.SlidingWindow:
		wrong = problem.New(problem.NotOfAlgorithm, p.Algorithm, problem.Field("granularity"), "remove it", limit.SlidingWindow)
	case *p.Slots < ruledoc.MinWindow:
		return new(time.Duration), problem.New(problem.TooSmall, ruledoc.FormatDuration(ruledoc.MinWindow)+" wide")
	}
	return p.Slots, wrong
}
