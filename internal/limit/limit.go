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

// MaxLog is the largest capacity of a sliding window log, which keeps every request.
const MaxLog = 1000

// MaxCapacity is the largest capacity: below 2³², so that sums over a window never leave 63 bits.
const MaxCapacity = 1<<32 - 1

// MaxWindow is the longest window: ten years, so that times a window or two away still fit 64 bits of nanoseconds.
const MaxWindow = MaxDrain

// MaxDrain is the longest time that a bucket may take to refill or a queue to drain.
const MaxDrain = 10 * 366 * 24 * time.Hour

// Never is the retry-after of a charge that its limit can never allow: its cost is above Most.
const Never time.Duration = -1

// Algorithm says how a limit counts.
type Algorithm uint8

const (
	// SlidingWindow counts by slots of the limit's granularity and adds up every slot that the window touches. No window
	// of any position ever holds more than the capacity; up to one slot's worth of room is given up for that.
	SlidingWindow Algorithm = iota
	// FixedWindow counts by whole windows, aligned to the Unix epoch or to a calendar. It keeps one number, and lets up to
	// twice the capacity through around the border of two windows.
	FixedWindow
	// SlidingWindowCounter keeps the counts of two fixed windows and weighs the older one by how much of it a window that
	// ends now still covers. Two numbers instead of one for each slot, for a bound of just under twice the capacity.
	SlidingWindowCounter
	// SlidingWindowLog keeps the time of every request. It gives up no room at all, and its state grows with the capacity,
	// which is therefore at most MaxLog.
	SlidingWindowLog
	// TokenBucket refills at the rate of Capacity in a Window and holds Burst units: a caller that has been idle may take
	// them at once. It keeps one number, by the generic cell rate algorithm (ITU-T I.371).
	TokenBucket
	// LeakyBucket lets requests out at the rate of Capacity in a Window, one by one, and has a queue of Burst units: a
	// request that is admitted is told how long to wait for its turn. It counts as TokenBucket does.
	LeakyBucket
)

var algorithms = [...]string{
	SlidingWindow: "sliding_window", FixedWindow: "fixed_window", SlidingWindowCounter: "sliding_window_counter",
	SlidingWindowLog: "sliding_window_log", TokenBucket: "token_bucket", LeakyBucket: "leaky_bucket",
}

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
	Window      time.Duration // a whole number of slots; the nominal length of a calendar's window
	Granularity time.Duration // width of a slot: the window itself where one slot is a window, Exact for a log, 0 for a bucket
	Burst       int64         // units that a bucket holds, or that a leaky bucket queues; 0 for the other algorithms
	Calendar    *Calendar     // where the windows of a fixed window begin; nil for the Unix epoch
}

// Exact is the granularity of a sliding window log: each nanosecond is a slot of its own.
const Exact = time.Nanosecond

// Valid reports whether the limit can be judged at all.
func (l *Limit) Valid() bool {
	if l.Window <= 0 || l.Window > MaxWindow || l.Capacity < 1 || l.Capacity > MaxCapacity {
		return false
	}
	if l.Calendar != nil && (l.Algorithm != FixedWindow || !l.Calendar.valid() || l.Window != l.Calendar.Nominal()) {
		return false
	}
	switch l.Algorithm {
	case SlidingWindow:
		return l.Granularity > 0 && l.Window%l.Granularity == 0 && l.Slots() <= MaxSlots
	case FixedWindow, SlidingWindowCounter:
		return l.Granularity == l.Window
	case SlidingWindowLog:
		return l.Granularity == Exact && l.Capacity <= MaxLog
	case TokenBucket, LeakyBucket:
		return l.Granularity == 0 && l.Burst >= 1 && l.Burst <= MaxCapacity && l.drains()
	}
	return false
}

// Bucket reports whether the limit keeps a Bucket and not Slots.
func (l *Limit) Bucket() bool { return l.Algorithm == TokenBucket || l.Algorithm == LeakyBucket }

// Correctable reports whether a charge can be corrected afterwards. A bucket and a log do not keep apart what a charge
// took from what others took since.
func (l *Limit) Correctable() bool { return !l.Bucket() && l.Algorithm != SlidingWindowLog }

// Most returns the largest cost that the limit can ever allow.
func (l *Limit) Most() int64 {
	if l.Bucket() {
		return l.Burst
	}
	return l.Capacity
}

// Slots returns k, the number of slots before the current one that still count: the window's width in slots for a sliding
// window, because the current slot is not over yet; none for a fixed one or a bucket.
func (l *Limit) Slots() int64 {
	switch l.Algorithm {
	case FixedWindow, TokenBucket, LeakyBucket:
		return 0
	case SlidingWindowLog:
		return int64(l.Window) - 1 // a nanosecond is over as soon as it is there
	}
	return int64(l.Window / l.Granularity) // of a weighted counter one, the older window
}

// SlotAt returns the number of the slot that holds t, counted from the Unix epoch. Moments before the epoch are in
// negative slots. t must be between the years 1678 and 2250, where Unix nanoseconds fit 64 bits. A bucket has no slots.
func (l *Limit) SlotAt(t time.Time) int64 {
	if l.Calendar != nil {
		return l.Calendar.windowAt(t)
	}
	return floor(t.UnixNano(), int64(l.Granularity))
}

// floor returns ⌊a/b⌋, for b > 0.
func floor(a, b int64) int64 {
	quotient := a / b
	if a%b < 0 {
		quotient--
	}
	return quotient
}

// Until returns the time from now to the start of a slot.
func (l *Limit) Until(slot int64, now time.Time) time.Duration {
	if l.Calendar != nil {
		return l.Calendar.start(slot).Sub(now)
	}
	return time.Duration(slot*int64(l.Granularity) - now.UnixNano())
}

// Result is what one limit says of one charge.
type Result struct {
	Allowed    bool
	Remaining  int64         // units left now, after the charge if it was made; never negative
	Reset      time.Duration // until the key is empty again if nothing else comes
	RetryAfter time.Duration // until this cost would be allowed if nothing else came; 0 where allowed, or Never
	Delay      time.Duration // how long an admitted request is to wait for its turn; a leaky bucket's alone
}

// Combine returns the result of limits that are charged all or none: allowed if all allow, the least remaining, the latest
// reset, retry-after and delay.
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
		all.Delay = max(all.Delay, r.Delay)
	}
	if !all.Allowed {
		all.Delay = 0
	}
	return all
}

func later(a, b time.Duration) time.Duration {
	if a == Never || b == Never {
		return Never
	}
	return max(a, b)
}
