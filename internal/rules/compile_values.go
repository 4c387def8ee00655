package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/ruledoc"
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
func (g GoLimit) String() string {
	if g.Call == "" {
		return "Limit{}"
	}
	over := ruledoc.FormatDuration(g.Window)
	if g.Zone != nil {
		over = g.Zone.String()
	}
	call := fmt.Sprintf("%s(%d, %s)", g.Call, g.Capacity, over)
	if g.Algorithm == limit.TokenBucket || g.Algorithm == limit.LeakyBucket {
		call = fmt.Sprintf("%s(%d, %s, %d)", g.Call, g.Capacity, over, g.Size)
	}
	if g.Slots != nil {
		call += fmt.Sprintf(".WithSlots(%s)", ruledoc.FormatDuration(*g.Slots))
	}
	if g.Anchor != nil {
		call += fmt.Sprintf(".WithAnchor(%d)", *g.Anchor)
	}
	if g.Name != "" {
		call += fmt.Sprintf(".WithName(%q)", g.Name)
	}
	return call
}

// window returns the window as a document would state it.
func (g *GoLimit) window() string {
	if g.Zone == nil {
		return ruledoc.FormatDuration(g.Window)
	}
	return [...]string{limit.Day: "1d", limit.Week: "1w", limit.Month: "1mo"}[g.Unit]
}

// goLimits compiles limits of a Go program, and puts them in the order of their
// names.
func (c *compiler) goLimits(path problem.Path, stated []GoLimit, in limitContext) (charges []charge) {
	if len(stated) > limit.MaxLimits {
		c.fail(path, problem.Count, len(stated), "limits", 1, limit.MaxLimits)
		return nil
	}
	taken := map[string]problem.Path{}
	for i := range stated {
		g, at := &stated[i], path.At(i)
		l := limit.Limit{Name: g.Name, Algorithm: g.Algorithm}
		l.Capacity, l.Burst = c.goSize(at, g)
		l.Window = c.goWindow(at, g)
		if len(stated) > 1 && l.Window != 0 {
			l.Name = cmp.Or(l.Name, ruledoc.LimitName(g.window()))
		}
		c.name(at, "name", l.Name, limitName, taken)
		l.Calendar = c.goCalendar(at, g)
		l.Granularity = c.goSlots(at, g, l.Window)
		field, wrong := outOfRange(&l)
		c.check(at.To(field), wrong)
		charges = append(charges, charge{path: at, place: i, limit: l, cost: c.price(at, &ruledoc.Limit{}, &l, in)})
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
	return charges
}

// goWindow returns the length of a window; 0 for one that is wrong.
func (c *compiler) goWindow(path problem.Path, g *GoLimit) time.Duration {
	path = path.To("window")
	switch same := g.sameRate(); {
	case g.Zone != nil:
		return (&limit.Calendar{Unit: g.Unit}).Nominal()
	case same != "":
		c.fail(path, problem.ShortBucket, ruledoc.FormatDuration(ruledoc.MinWindow), same)
	case g.Window < ruledoc.MinWindow || g.Window > ruledoc.MaxWindow:
		c.check(path, outOfBounds(ruledoc.FormatDuration(g.Window)))
	default:
		return g.Window
	}
	return 0
}

// sameRate writes a bucket with a window that is too short as one with a longer
// window, which means the same; it returns "" for other limits.
func (g GoLimit) sameRate() string {
	bucket := g.Algorithm == limit.TokenBucket || g.Algorithm == limit.LeakyBucket
	if !bucket || g.Window < 1 || g.Window >= ruledoc.MinWindow || g.Capacity < 1 {
		return ""
	}
	g.Size = cmp.Or(g.Size, g.Capacity)
	for g.Window < ruledoc.MinWindow && g.Capacity <= limit.MaxCapacity {
		g.Window, g.Capacity = 10*g.Window, 10*g.Capacity
	}
	if g.Capacity > limit.MaxCapacity {
		return ""
	}
	return g.String()
}

// goCalendar returns where the windows of a limit begin; nil for multiples of
// their length. Days in UTC are plain lengths of time, and share their counters.
func (c *compiler) goCalendar(path problem.Path, g *GoLimit) *limit.Calendar {
	calendar := limit.Calendar{Unit: g.Unit}
	switch path := path.To("anchor"); {
	case g.Anchor == nil:
	case g.Zone == nil || g.Unit != limit.Month:
		c.fail(path, problem.NotOfMonths)
	case *g.Anchor < 1 || *g.Anchor > 28:
		c.fail(path, problem.OutOfRange, *g.Anchor, 1, 28)
	default:
		calendar.Anchor = *g.Anchor
	}
	if g.Zone == nil {
		return nil
	}
	// Only the name tells whether another process can have the same zone.
	calendar.Location = c.location(path.To("timezone"), g.Zone.String())
	if g.Unit == limit.Day && calendar.Location == time.UTC {
		return nil
	}
	return &calendar
}

// goSize returns how many units a window allows, and how many a bucket holds. A
// number that is wrong becomes 0.
func (c *compiler) goSize(path problem.Path, g *GoLimit) (capacity, burst int64) {
	switch at := path.To("capacity"); {
	case g.Capacity < 1:
		c.fail(at, problem.TooSmall, "1")
	case g.Capacity > limit.MaxCapacity && g.Algorithm != limit.SlidingWindowLog: // which has a bound of its own
		c.fail(at, problem.OutOfRange, g.Capacity, 1, int64(limit.MaxCapacity))
	default:
		capacity = g.Capacity
	}
	size := SizeField(g.Algorithm)
	switch {
	case size == "capacity":
	case g.Size < 0:
		c.fail(path.To(size), problem.TooSmall, "1, or 0 for n")
	case g.Size > limit.MaxCapacity:
		c.fail(path.To(size), problem.OutOfRange, g.Size, 1, int64(limit.MaxCapacity))
	default:
		burst = cmp.Or(g.Size, capacity)
	}
	return capacity, burst
}

// goSlots returns the width of the slots of a window; 0 for one that is wrong.
func (c *compiler) goSlots(path problem.Path, g *GoLimit, window time.Duration) time.Duration {
	switch {
	case g.Slots == nil:
	case g.Algorithm != limit.SlidingWindow:
		c.fail(path.To("granularity"), problem.NotOfAlgorithm, algorithm(g.Algorithm), problem.Field("granularity"), "remove it", algorithm(limit.SlidingWindow))
	case *g.Slots < ruledoc.MinWindow:
		c.fail(path.To("granularity"), problem.TooSmall, ruledoc.FormatDuration(ruledoc.MinWindow)+" wide")
		return 0
	default:
		return *g.Slots
	}
	switch g.Algorithm {
	case limit.SlidingWindowLog:
		return limit.Exact
	case limit.TokenBucket, limit.LeakyBucket:
		return 0
	case limit.FixedWindow, limit.SlidingWindowCounter:
		return window
	}
	width := ruledoc.DefaultGranularity(window) // 0 for a window that is wrong
	if width == 0 && window != 0 {
		c.check(path.To("window"), noDefault(window))
	}
	return width
}
