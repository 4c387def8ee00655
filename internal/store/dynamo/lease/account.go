package lease

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// period is the time over which a process counts its requests for a key, to
// predict the next ones. Slots that are shorter have periods of their length.
const period = time.Second

// account is the lease of one counter, and how many requests the process has
// admitted for it lately.
type account struct {
	mu     sync.Mutex
	answer limit.Verdict          // of the charge that took the lease
	limits []limit.Limit          // of that charge
	at     time.Time              // when that was
	end    int64                  // of the first of its slots, in Unix nanoseconds
	left   [limit.MaxLimits]int64 // units that are charged and not yet admitted
	flying bool                   // a charge for a new lease is under way
	room   int64                  // how many charges had room after the latest answer

	current int64 // the period of the latest request
	now     int64 // requests admitted in it
	before  int64 // in the period before
}

// admit fills in v and returns 0 if the lease covers the charge. Otherwise it
// returns how many charges to make at once.
func (a *account) admit(now time.Time, c *limit.Charge, v *limit.Verdict) (ahead int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := a.count(now, c)
	if a.covered(now, c) {
		a.now++
		a.handOut(now, c, v)
		return 0
	}
	if a.flying {
		return 1
	}
	ahead = max(1, min(int64(c.Lease), int64(rest*float64(max(a.now, a.before))/2), a.room/2))
	a.flying = ahead > 1
	return ahead
}

// count moves the account on to the period of now, and returns which part of it
// is left.
func (a *account) count(now time.Time, c *limit.Charge) (rest float64) {
	length := int64(period)
	for i := range c.Limits {
		if l := &c.Limits[i]; l.Correctable() {
			length = min(length, int64(l.Granularity))
		}
	}
	n := now.UnixNano() / length
	switch {
	case n == a.current+1:
		a.before, a.now, a.current = a.now, 0, n
	case n > a.current, n < a.current-1: // requests may overtake each other, but a clock that was set back goes farther
		a.before, a.now, a.current = 0, 0, n
	}
	return 1 - float64(now.UnixNano()-n*length)/float64(length)
}

func (a *account) covers(now time.Time, c *limit.Charge) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.covered(now, c)
}

// covered reports whether the lease has the units and is still good: by this
// clock, the slots that it charged have not ended, and the table has answered as
// recently as a snapshot that may deny. So a counter that is reset or settled
// ends leases as soon as it ends snapshots.
func (a *account) covered(now time.Time, c *limit.Charge) bool {
	if now.UnixNano() >= a.end || !limit.Fresh(a.at, now) || !sameCapacities(a.limits, c.Limits) {
		return false
	}
	for i, cost := range c.Costs {
		if cost > a.left[i] {
			return false
		}
	}
	return true
}

// handOut takes the costs of a charge from the lease.
func (a *account) handOut(now time.Time, c *limit.Charge, v *limit.Verdict) {
	for i, cost := range c.Costs {
		a.left[i] -= cost
	}
	a.state(now, v)
}

// state fills in v with the verdict of the charge that took the lease, as of now.
// Units of the lease that are left count as remaining, because this process can
// still use them.
func (a *account) state(now time.Time, v *limit.Verdict) {
	v.Resize(len(a.answer.Limits))
	for i, r := range a.answer.Limits {
		r.Remaining += a.left[i]
		r.Reset = max(0, r.Reset-now.Sub(a.at))
		v.Limits[i] = r
	}
	v.Result, v.Receipt = limit.Combine(v.Limits), a.answer.Receipt
}

// arrived adds the charges beyond the first to the lease, if they were made.
func (a *account) arrived(now time.Time, c *limit.Charge, v *limit.Verdict, more int64, made bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flying = false
	if !made {
		a.room = 0
		return
	}
	if !sameSlots(&a.answer.Receipt, &v.Receipt, len(c.Costs)) {
		a.left, a.end = [limit.MaxLimits]int64{}, math.MaxInt64
	}
	a.answer, a.limits, a.at = *v, slices.Clone(c.Limits), now
	a.answer.Limits = slices.Clone(v.Limits)
	for i, cost := range c.Costs {
		a.left[i] += more * cost
		if l := &c.Limits[i]; cost > 0 {
			a.end = min(a.end, now.UnixNano()+int64(l.Until(v.Receipt.Slots[i]+1, now)))
		}
	}
	a.admitted(v, c)
	a.state(now, v)
}

// sameSlots reports whether two charges took from the same slots of a counter.
func sameSlots(a, b *limit.Receipt, limits int) bool {
	return a.Generation == b.Generation && a.Serial == b.Serial && slices.Equal(a.Slots[:limits], b.Slots[:limits])
}

// sameCapacities reports whether two charges state the same capacities. A plan,
// an override or newer rules may give one counter others. A lease admits nothing
// under a capacity that its own charge was not held to.
func sameCapacities(a, b []limit.Limit) bool {
	return slices.EqualFunc(a, b, func(a, b limit.Limit) bool { return a.Capacity == b.Capacity })
}

// charged notes a charge that was made alone.
func (a *account) charged(v *limit.Verdict, c *limit.Charge) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admitted(v, c)
}

// admitted counts an admission of the table, and how many more it has room for.
func (a *account) admitted(v *limit.Verdict, c *limit.Charge) {
	a.now++
	a.room = math.MaxInt64
	for i, cost := range c.Costs {
		if cost > 0 {
			a.room = min(a.room, v.Limits[i].Remaining/cost)
		}
	}
}
