package rules

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

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
	units := func(field string, units, most int64, least string) int64 {
		switch {
		case units < 1:
			report(field, problem.New(problem.TooSmall, least))
		case units > most:
			report(field, problem.New(problem.OutOfRange, units, 1, most))
		default:
			return units
		}
		return 0
	}
	most := int64(limit.MaxCapacity)
	if p.Algorithm == limit.SlidingWindowLog { // uncountable checks its own bound
		most = math.MaxInt64
	}
	capacity = units("capacity", p.Capacity, most, "1")
	switch {
	case !p.bucket():
		return capacity, 0
	case p.Size == 0:
		return capacity, capacity
	}
	return capacity, units(SizeField(p.Algorithm), p.Size, limit.MaxCapacity, "1, or 0 for n")
}

// length returns the length of the window.
func (p *GoLimit) length() (length time.Duration, wrong problem.Fault) {
	if p.Zone != nil {
		return (&limit.Calendar{Unit: p.Unit}).Nominal(), wrong
	}
	if same := p.sameRate(); same != "" {
		return 0, problem.New(problem.ShortBucket, ruledoc.FormatDuration(ruledoc.MinWindow), same)
	}
	return bounded(p.Window, p.windowText())
}

// sameRate writes a bucket with a window that is too short as one with a longer
// window, which means the same; it returns "" for other limits.
func (p GoLimit) sameRate() string {
	if !p.bucket() || p.Window < 1 || p.Window >= ruledoc.MinWindow || p.Capacity < 1 {
		return ""
	}
	p.Size = cmp.Or(p.Size, p.Capacity)
	for p.Window < ruledoc.MinWindow && p.Capacity <= limit.MaxCapacity {
		p.Window, p.Capacity = 10*p.Window, 10*p.Capacity
	}
	if p.Capacity > limit.MaxCapacity {
		return ""
	}
	return p.String()
}

// calendar returns where the windows begin; nil for multiples of their length.
// Only the name of a zone tells whether another process can have the same.
func (p *GoLimit) calendar() (c *limit.Calendar, wrong problem.Fault) {
	if p.Zone == nil {
		return nil, wrong
	}
	zone, wrong := zoneNamed(p.Zone.String())
	return calendarOf(p.Unit, zone), wrong
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
