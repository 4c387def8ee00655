package slidegate

import (
	"time"

	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Never is the RetryAfter of a request that its limit can never allow, because
// it costs more than the limit holds.
const Never = limit.Never

// Limit says how many units a key may take in a window of time. A request costs
// one unit, or as many as [Limiter.AllowN] states. Make one with
// [SlidingWindow], which is exact, or with one of the other algorithms. [New]
// and gate.New check it: n is from 1 to 999,999,999,999,999, and a window is from
// 100 ms to ten years long.
//
// A Limit is an [Option] of New. A limiter with several limits charges all of
// them or none.
type Limit struct{ of rules.GoLimit }

// SlidingWindow allows n units in any window of this length, wherever it
// starts: never more, to the nanosecond. It counts by 10 to 60 slots, and a unit
// counts for up to one slot longer than the window. Windows of a minute, an
// hour and a day have 60 slots, and a busy key gets 98% of n. A second has 10, and
// it gets 91%. State: one number for each slot in use.
//
// Example: SlidingWindow(100, time.Minute) counts by seconds. 100 requests at
// 12:00:10.5 fill it until 12:01:11.
func SlidingWindow(n int64, window time.Duration) Limit {
	return newLimit("SlidingWindow", limit.SlidingWindow, n, window)
}

// FixedWindow allows n units in each window, and windows start at multiples of
// their length since 1970. Up to 2n units may pass around the border of two
// windows. State: one number.
func FixedWindow(n int64, window time.Duration) Limit {
	return newLimit("FixedWindow", limit.FixedWindow, n, window)
}

// SlidingWindowCounter keeps the counts of two fixed windows, and weighs the
// older one by how much of it a window that ends now still covers. A window may
// have almost 2n units. State: two numbers.
//
// Source: "How we built rate limiting capable of scaling to millions of
// domains", Cloudflare.
func SlidingWindowCounter(n int64, window time.Duration) Limit {
	return newLimit("SlidingWindowCounter", limit.SlidingWindowCounter, n, window)
}

// SlidingLog keeps the time of every request. It is exact, and no unit counts
// longer than the window. State: one number for each unit, so n is at most
// 1,000.
func SlidingLog(n int64, window time.Duration) Limit {
	return newLimit("SlidingLog", limit.SlidingWindowLog, n, window)
}

// TokenBucket refills at n units in a window, evenly, and holds burst units,
// which an idle key may take at once; 0 stands for n. A window may have burst + n
// units. State: one number, by the generic cell rate algorithm (ITU-T I.371).
//
// Example: TokenBucket(10, time.Second, 50) sustains 10 requests a second, and
// takes 50 at once after five idle seconds. One request in 20 ms is
// TokenBucket(50, time.Second, 1).
func TokenBucket(n int64, window time.Duration, burst int64) Limit {
	l := newLimit("TokenBucket", limit.TokenBucket, n, window)
	l.of.Size = burst
	return l
}

// LeakyBucket lets requests out one by one, at n in a window, and has a queue
// for others. [Result.Delay] says how long an admitted request must wait for
// its turn; [Limiter.Wait] and the middleware of
// package limithttp wait. A window may admit queue + n
// units; they leave evenly. State: one number.
//
// Example: LeakyBucket(10, time.Second, 5) sends a request every 100 ms. Of ten
// that come at once five are admitted, with delays of 0 to 400 ms. A queue of 0
// stands for n.
func LeakyBucket(n int64, window time.Duration, queue int64) Limit {
	l := newLimit("LeakyBucket", limit.LeakyBucket, n, window)
	l.of.Size = queue
	return l
}

// InFlight lets n requests of a key work at once: n is 1 to 1,000. A request has
// its place from [Limiter.Reserve] or [Limiter.Acquire] until
// [Reservation.Settle] or [Reservation.Cancel], for the time expires at most,
// 1 s to 24 h, unless [Reservation.Renew] prolongs it. A crash keeps the place for
// expires and three seconds more. State: about 30 bytes for each place in use.
//
// A request takes one place, however many units it takes from other limits. A
// limiter has one such limit at most.
func InFlight(n int64, expires time.Duration) Limit {
	return newLimit("InFlight", limit.InFlight, n, expires)
}

// PerDay allows n units each day, from midnight, in a time zone of the IANA
// database, as time.LoadLocation returns it; nil stands for UTC. Another zone,
// such as time.Local, is an error of New: processes must agree on it.
func PerDay(n int64, zone *time.Location) Limit { return calendar("PerDay", n, limit.Day, zone) }

// PerWeek allows n units from Monday to Sunday in a time zone.
func PerWeek(n int64, zone *time.Location) Limit { return calendar("PerWeek", n, limit.Week, zone) }

// PerMonth allows n units in each month of a time zone. Months start on the
// 1st, or on the day that [Limit.WithAnchor] names.
func PerMonth(n int64, zone *time.Location) Limit { return calendar("PerMonth", n, limit.Month, zone) }

func newLimit(call string, a limit.Algorithm, n int64, window time.Duration) Limit {
	return Limit{rules.GoLimit{Call: call, Algorithm: a, Capacity: n, Window: window}}
}

func calendar(call string, n int64, unit limit.Unit, zone *time.Location) Limit {
	if zone == nil {
		zone = time.UTC
	}
	return Limit{rules.GoLimit{Call: call, Algorithm: limit.FixedWindow, Capacity: n, Unit: unit, Zone: zone}}
}

// WithName returns the limit with a name of its own, which clients see after the
// name of the limiter, such as "api.burst". One of several limits without a
// name has that of its window, such as "per-hour".
func (l Limit) WithName(name string) Limit {
	l.of.Name = name
	return l
}

// WithSlots returns a sliding window with slots of another width, which must
// divide the window into at most 600. Narrow slots store more state and admit
// more: a busy key gets its n units in the time of a window and one slot.
func (l Limit) WithSlots(width time.Duration) Limit {
	l.of.Slots = &width
	return l
}

// WithAnchor returns a limit by months that start on another day, from 1 to 31.
// A month without that day starts on its last one: for 31, on 28 February and
// then on 31 March.
func (l Limit) WithAnchor(day int) Limit {
	l.of.Anchor = &day
	return l
}

// ForLimiter makes the limit an Option.
func (l Limit) ForLimiter(of *setup.Limiter) { of.Limits = append(of.Limits, l.of) }

// String returns the call that makes the limit, such as
// "SlidingWindow(100, 1m)".
func (l Limit) String() string { return l.of.String() }
