// Package limit has the rate-limiting algorithms as pure functions: state,
// time and cost in, new state and result out.
//
// The functions specify the algorithms. The memory store calls them directly,
// and every other store must agree with them; package storetest checks that.
// Nothing here reads a clock, allocates during a decision, or imports more than
// the standard library.
//
// A caller decides first and charges then:
//
//	l := limit.Limit{Capacity: 100, Window: time.Minute, Granularity: time.Second}
//	var state limit.State
//	if r := state.Decide(&l, now, 5); r.Allowed {
//		r = state.Take(&l, now, 5) // r.Remaining is 95
//	}
package limit

import "time"

// MaxLimits is the largest number of limits of a rule. A DynamoDB item gives
// each of them a prefix of one letter.
const MaxLimits = 8

// MaxSlots is the largest number of slots of a window.
const MaxSlots = 600

// MaxLog is the largest capacity of a sliding window log, which keeps every
// request.
const MaxLog = 1000

// MaxCapacity is the largest capacity in units: fifteen digits, as many as an
// integer of a RateLimit field holds (RFC 9651, Structured Fields). It is below
// 2⁵⁰, so JSON and Redis, whose numbers are exact to 2⁵³, hold it as well.
const MaxCapacity = 999_999_999_999_999

// maxUnits bounds the units to which corrections may bring one window. It is nine
// times MaxCapacity, and the largest number up to which Redis counts exactly.
const maxUnits = 1<<53 - 1

// MaxWindow is the longest window: ten years. Times two windows away from now
// still fit 64 bits of nanoseconds.
const MaxWindow = MaxDrain

// MaxDrain is the longest time that a bucket may take to refill or a queue to
// drain.
const MaxDrain = 10 * 366 * 24 * time.Hour

// MaxHold is the longest time from a charge to the end of its hold.
const MaxHold = 24 * time.Hour

// Never is the retry-after of a charge that its limit can never allow, because
// its cost is above Limit.MaxCost.
const Never time.Duration = -1

// Algorithm is how a limit counts.
type Algorithm uint8

const (
	// SlidingWindow counts by slots of the limit's granularity and adds up
	// every slot that the window touches. No window of any position ever
	// contains more than the capacity. In return, units may count for up to one
	// slot longer than the window.
	SlidingWindow Algorithm = iota
	// FixedWindow counts by whole windows, aligned to the Unix epoch or to a
	// calendar. It keeps one number, and lets up to twice the capacity through
	// around the border of two windows.
	FixedWindow
	// SlidingWindowCounter keeps the counts of two fixed windows and weighs the
	// older one by how much of it a window that ends now still covers. It keeps
	// two numbers instead of one for each slot; its bound is just under twice
	// the capacity.
	SlidingWindowCounter
	// SlidingWindowLog keeps the time of every request. It is exact to the
	// nanosecond, and its state grows with the capacity, which is therefore at
	// most MaxLog.
	SlidingWindowLog
	// TokenBucket refills at the rate of Capacity in a Window and holds Burst
	// units, which an idle caller may take at once. It keeps one number, by the
	// generic cell rate algorithm (ITU-T I.371).
	TokenBucket
	// LeakyBucket lets requests out one by one, at the rate of Capacity in a
	// Window, and has a queue of Burst units. An admitted request waits for the
	// Delay of its Result. It counts as TokenBucket does.
	LeakyBucket
	// InFlight lets Capacity requests work at once. Each has a place from its
	// charge until it is settled, at most for Window unless it renews. It counts
	// holds, and has no slots.
	InFlight
)

var algorithms = [...]string{
	SlidingWindow: "sliding_window", FixedWindow: "fixed_window", SlidingWindowCounter: "sliding_window_counter",
	SlidingWindowLog: "sliding_window_log", TokenBucket: "token_bucket", LeakyBucket: "leaky_bucket", InFlight: "in_flight",
}

// String returns the name that rule files use, such as "sliding_window".
func (a Algorithm) String() string {
	if int(a) < len(algorithms) {
		return algorithms[a]
	}
	return "unknown"
}

// ParseAlgorithm returns the algorithm that a rule file names; ok is false for
// an unknown name.
func ParseAlgorithm(name string) (a Algorithm, ok bool) {
	for i, n := range Algorithms() {
		if n == name {
			return Algorithm(i), true
		}
	}
	return 0, false
}

// Algorithms returns the names that ParseAlgorithm accepts: of those that count
// over time.
func Algorithms() []string { return algorithms[:InFlight] }

// Limit allows Capacity units in a Window. It is read-only once it is in use.
type Limit struct {
	// Name is empty for a rule's only limit.
	Name      string
	Algorithm Algorithm
	// Capacity is in units, from 1 to MaxCapacity.
	Capacity int64
	// Window is a whole number of slots. A calendar's window has its nominal
	// length: 30 days for a month.
	Window time.Duration
	// Granularity is the width of a slot: Window/60 is typical of a sliding
	// window, Window where one slot is a window, Exact for a log, 0 for a
	// bucket.
	Granularity time.Duration
	// Burst is how many units a bucket holds, or a leaky bucket queues; 0 for
	// the other algorithms.
	Burst int64
	// Calendar sets where fixed windows begin; nil stands for multiples of
	// Window from the Unix epoch.
	Calendar *Calendar
}

// Exact is the granularity of a sliding window log: each nanosecond is a slot
// of its own.
const Exact = time.Nanosecond

// Valid reports whether the fields fit the algorithm and its bounds.
func (l *Limit) Valid() bool {
	if l.Window <= 0 || l.Window > MaxWindow || l.Capacity < 1 || l.Capacity > MaxCapacity {
		return false
	}
	if l.Calendar != nil && (l.Algorithm != FixedWindow || !l.Calendar.valid() || l.Window != l.Calendar.Nominal()) {
		return false
	}
	switch l.Algorithm {
	case SlidingWindow:
		if l.Granularity <= 0 {
			return false
		}
		k := l.Window / l.Granularity // the only division: it takes longer than all else
		return k*l.Granularity == l.Window && k <= MaxSlots
	case FixedWindow, SlidingWindowCounter:
		return l.Granularity == l.Window
	case SlidingWindowLog:
		return l.Granularity == Exact && l.Capacity <= MaxLog
	case TokenBucket, LeakyBucket:
		// Its Drain is within MaxDrain.
		return l.Granularity == 0 && l.Burst >= 1 && l.Burst <= min(MaxCapacity, int64(MaxDrain/l.Interval())) && !l.TooFast()
	case InFlight:
		return l.Granularity == 0 && l.Burst == 0 && l.Capacity <= MaxHolds && l.Window >= time.Second && l.Window <= MaxHold
	}
	return false
}

// Bucket reports whether the limit keeps the one number of a bucket, not Slots.
func (l *Limit) Bucket() bool { return l.Algorithm == TokenBucket || l.Algorithm == LeakyBucket }

// Slotless reports whether the limit counts by no slots: a bucket or InFlight.
func (l *Limit) Slotless() bool { return l.Algorithm >= TokenBucket }

// Correctable reports whether a charge can be corrected afterwards. A bucket
// and a log do not separate the units of one charge from later ones, and a place
// in flight is given back as a whole.
func (l *Limit) Correctable() bool { return !l.Slotless() && l.Algorithm != SlidingWindowLog }

// MaxCost returns the largest cost that the limit can ever allow.
func (l *Limit) MaxCost() int64 {
	if l.Bucket() {
		return l.Burst
	}
	return l.Capacity
}

// Slots returns k, the number of slots before the current one that still count.
// For a sliding window it is the window's width in slots, because the current
// slot is not over yet: 60 for a minute of seconds. It is 0 for a fixed window
// and for a bucket.
func (l *Limit) Slots() int64 {
	switch l.Algorithm {
	case FixedWindow, TokenBucket, LeakyBucket, InFlight:
		return 0
	case SlidingWindowLog:
		return int64(l.Window) - 1 // a nanosecond is over as soon as it begins
	}
	return int64(l.Window / l.Granularity) // 1 for a counter: the older window
}

// span returns how long a unit counts from the start of its slot: Slots slots
// and its own.
func (l *Limit) span() int64 {
	span := int64(l.Window)
	if l.Algorithm == SlidingWindow || l.Algorithm == SlidingWindowCounter {
		span += int64(l.Granularity)
	}
	return span
}

// gone reports whether a slot no longer counts in slot q, at or after it: more
// than Slots lie in between. It multiplies, because to divide takes longer.
func (l *Limit) gone(slot, q int64) bool {
	return uint64(q-slot)*uint64(l.Granularity) >= uint64(l.span()) // unsigned, for times up to 584 years apart
}

// UntilGone returns the time from now until a slot has left the window.
func (l *Limit) UntilGone(slot int64, now time.Time) time.Duration {
	return l.untilGone(slot, now.UnixNano())
}

// untilGone is UntilGone for Unix nanoseconds.
func (l *Limit) untilGone(slot, now int64) time.Duration {
	if l.Calendar != nil {
		return l.until(slot+1, now)
	}
	return time.Duration(slot*int64(l.Granularity) + l.span() - now)
}

// SlotAt returns the number of the slot that contains t, counted from the Unix
// epoch. Times before the epoch are in negative slots. t must be InRange. A bucket
// has no slots.
func (l *Limit) SlotAt(t time.Time) int64 { return l.slotAt(t.UnixNano()) }

// slotAt is SlotAt for Unix nanoseconds.
func (l *Limit) slotAt(t int64) int64 {
	if l.Calendar != nil {
		return l.Calendar.windowAt(time.Unix(0, t))
	}
	return floor(t, int64(l.Granularity))
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
func (l *Limit) Until(slot int64, now time.Time) time.Duration { return l.until(slot, now.UnixNano()) }

// until is Until for Unix nanoseconds.
func (l *Limit) until(slot, now int64) time.Duration {
	if l.Calendar != nil {
		return l.Calendar.start(slot).Sub(time.Unix(0, now))
	}
	return time.Duration(slot*int64(l.Granularity) - now)
}

// Result is one limit's answer to one charge.
//
// The examples are of 100 units in a sliding window of 60 s with slots of 1 s,
// at 12:00:30. The key has taken 97 units at 12:00:10 and nothing else.
type Result struct {
	// Allowed is true for a cost of 3 and false for a cost of 4.
	Allowed bool
	// Remaining is the number of units left now, after the charge if it was
	// made: 0 after a cost of 3, 3 after a denied cost of 4. It is never
	// negative.
	Remaining int64
	// Reset is the time until the key is empty again if no request follows.
	// Slot 12:00:10 leaves the window at 12:01:11, so Reset is 41 s for a
	// denied cost of 4. After a charge of 3 at 12:00:30 it is 61 s.
	Reset time.Duration
	// RetryAfter is the time until this cost would be allowed if no other
	// request followed: 41 s for a cost of 4, Never for a cost of 101, 0 if it
	// is allowed.
	RetryAfter time.Duration
	// Delay is how long an admitted request must wait for its turn. Only a
	// leaky bucket sets it: at 1 unit a second and 5 units queued, it is 5 s.
	Delay time.Duration
}

// set fills in r. To copy a result that was just written takes longer, because
// the processor has to wait for the parts.
func (r *Result) set(allowed bool, remaining int64, reset, retryAfter, delay time.Duration) {
	r.Allowed, r.Remaining, r.Reset, r.RetryAfter, r.Delay = allowed, remaining, reset, retryAfter, delay
}

// Combine returns the result of limits that are charged all or none: allowed if
// all allow, the smallest remaining, the latest reset, retry-after and delay. A
// limit that remains 3 and resets in 41 s, beside one that remains 40 and
// resets in an hour, gives 3 and an hour.
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
