package slidegate

import (
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
)

// Result is the answer to a request. A denial is a result, not an error.
//
// The examples are of SlidingWindow(100, time.Minute) at 12:00:30. The key has
// taken 97 units at 12:00:10 and nothing else.
type Result struct {
	// Allowed is true for a request of 3 units, false for one of 4.
	Allowed bool
	// Limit is the number of units that the window allows: 100. Of several
	// limits, this and Remaining are those of the tightest: the one that denied,
	// or the one with the smallest share left. A bucket may have more remaining,
	// up to its burst.
	Limit int64
	// Remaining is the number of units left after the request: 0 after one of
	// 3 units, 3 after a denied one of 4; 0 if nothing was counted.
	Remaining int64
	// ResetAfter is the time until the key is unused again if no request
	// follows: 41 s after a denied request, because the slot of 12:00:10 leaves
	// the window at 12:01:11; 61 s after an admitted one.
	ResetAfter time.Duration
	// RetryAfter is the time until the same request would be allowed if no
	// other followed: 41 s for 4 units, [Never] for 101, 0 if it is allowed.
	RetryAfter time.Duration
	// Delay is the time that an admitted request must wait for its turn in a
	// [LeakyBucket]: 300 ms for the fourth of four at 10 a second. It is 0 for
	// the other algorithms.
	Delay time.Duration
	// Degraded reports that the store did not answer, and the [ErrorPolicy]
	// decided.
	Degraded bool
	// Limits has the result of each limit in the order that New was given; nil
	// for a limiter with one limit, and if nothing was counted.
	Limits []LimitResult
}

// LimitResult is the answer of one of several limits. Its fields mean the same
// as those of Result.
type LimitResult struct {
	Name       string // that clients see, such as "per-hour"
	Allowed    bool
	Limit      int64
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
	Delay      time.Duration
}

// ResultOf is for this module. It returns the verdict of a gate's rule as a result.
func ResultOf(v *engine.Verdict) (r Result) {
	r.fill(v, nil)
	return r
}

// fill translates a verdict into r, which is zero. order has the index of each
// limit in the order that New was given; it is nil for a rule of a gate.
func (r *Result) fill(v *engine.Verdict, order []int) {
	tightest := v.Tightest()
	r.Allowed, r.Degraded = v.Allowed, v.Degraded
	r.Limit, r.Remaining = v.Terms.Limits[tightest].Capacity, v.Limits[tightest].Remaining
	r.ResetAfter, r.RetryAfter, r.Delay = v.Reset, v.RetryAfter, v.Delay
	if len(order) < 2 || v.Uncounted {
		return
	}
	r.Limits = make([]LimitResult, len(order))
	for given, i := range order {
		l := &v.Limits[i]
		r.Limits[given] = LimitResult{
			Name: v.Terms.Limits[i].Name, Allowed: l.Allowed, Limit: v.Terms.Limits[i].Capacity, Remaining: l.Remaining,
			ResetAfter: l.Reset, RetryAfter: l.RetryAfter, Delay: l.Delay,
		}
	}
}
