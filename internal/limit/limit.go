// Package limit holds the rate-limiting algorithms as pure steps: state, moment and cost in, new state and result out.
//
// A step is the specification of its algorithm. The memory store runs it as it stands; every other store must agree with
// it. Nothing here reads a clock, allocates on the way to a decision, or imports more than the standard library.
package limit

import "time"

// MaxLimits is the number of limits that one rule may hold. A DynamoDB item names them by one letter each.
const MaxLimits = 8

// MaxSlots is the largest number of slots that a window may be cut into.
const MaxSlots = 600

// MaxCapacity is the largest capacity: below 2³², so that sums over a window never leave 63 bits.
const MaxCapacity = 1<<32 - 1

// Never is the retry-after of a charge that its limit can never allow: its cost is above the capacity.
const Never time.Duration = -1

// Algorithm says how a limit counts.
type Algorithm uint8

const (
	// SlidingWindow counts by slots of the limit's granularity and adds up every slot that the window touches. No window
	// of any position ever holds more than the capacity; up to one slot's worth of room is given up for that.
	SlidingWindow Algorithm = iota
	// FixedWindow counts by whole windows, aligned to the Unix epoch. It keeps one number, and lets up to twice the
	// capacity through around the border of two windows.
	FixedWindow
)

var algorithms = [...]string{SlidingWindow: "sliding_window", FixedWindow: "fixed_window"}

// String returns the name that rule files use, such as "sliding_window".
func (a Algorithm) String() string {
	if int(a) < len(algorithms) {
		return algorithms[a]
	}
	return "unknown"
}

// ParseAlgorithm returns the algorithm that a rule file names; ok is false for a name that is not known.
func ParseAlgorithm(name string) (a Algorithm, ok bool) {
	for i, n := range algorithms {
		if n == name {
			return Algorithm(i), true
		}
	}
	return 0, false
}

// Algorithms returns the names that ParseAlgorithm knows.
func Algorithms() []string { return algorithms[:] }

// Limit allows Capacity units in a Window. It is read-only once it is in use.
type Limit struct {
	Name        string // empty for a rule's only limit
	Algorithm   Algorithm
	Capacity    int64         // units, from 1 to MaxCapacity
	Window      time.Duration // a whole number of slots
	Granularity time.Duration // width of a slot; for a fixed window the window itself
}

// valid reports whether the limit can be judged at all.
func (l *Limit) valid() bool {
	if l.Granularity <= 0 || l.Window <= 0 || l.Capacity < 1 || l.Capacity > MaxCapacity {
		return false
	}
	switch l.Algorithm {
	case SlidingWindow:
		return l.Window%l.Granularity == 0 && l.Slots() <= MaxSlots
	case FixedWindow:
		return l.Granularity == l.Window
	}
	return false
}

// Slots returns k, the number of slots before the current one that still count: the window's width in slots for a sliding
// window, none for a fixed one.
func (l *Limit) Slots() int64 {
	if l.Algorithm == FixedWindow {
		return 0
	}
	return int64(l.Window / l.Granularity)
}

// SlotAt returns the number of the slot that holds t, counted from the Unix epoch. Moments before the epoch are in
// negative slots. t must be between the years 1678 and 2262, where Unix nanoseconds fit 64 bits.
func (l *Limit) SlotAt(t time.Time) int64 {
	ns, width := t.UnixNano(), int64(l.Granularity)
	b := ns / width
	if ns%width < 0 {
		b--
	}
	return b
}

// Until returns the time from now to the start of a slot.
func (l *Limit) Until(slot int64, now time.Time) time.Duration {
	return time.Duration(slot*int64(l.Granularity) - now.UnixNano())
}

// Result is what one limit says of one charge.
type Result struct {
	Allowed    bool
	Remaining  int64         // units left now, after the charge if it was made; never negative
	Reset      time.Duration // until the key is empty again if nothing else comes
	RetryAfter time.Duration // until this cost would be allowed if nothing else came; 0 where allowed, or Never
}

// Combine returns the result of limits that are charged all or none: allowed if all allow, the least remaining, the latest
// reset and retry-after.
func Combine(results []Result) Result {
	if len(results) == 0 {
		return Result{Allowed: true}
	}
	all := results[0]
	for _, r := range results[1:] {
		all.Allowed = all.Allowed && r.Allowed
		all.Remaining = min(all.Remaining, r.Remaining)
		all.Reset = max(all.Reset, r.Reset)
		all.RetryAfter = later(all.RetryAfter, r.RetryAfter)
	}
	return all
}

func later(a, b time.Duration) time.Duration {
	if a == Never || b == Never {
		return Never
	}
	return max(a, b)
}
