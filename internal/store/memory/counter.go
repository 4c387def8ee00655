package memory

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// generation is the mark of every counter in a receipt.
const generation = "memory"

// counter is the state of one key. With one limit it takes 96 bytes, beside the
// key and the slots in use.
type counter struct {
	key    string
	hash   uint32
	serial uint32 // another one for each counter of a key: four billion take minutes to create
	one    [1]limit.State
	more   *more     // of few counters; nil for none
	end    int64     // when its last window has ended, in Unix nanoseconds
	next   *counter  // in its list of the queue
	link   **counter // to this counter in that list; nil before its first charge
}

// more is what most counters do not need.
type more struct {
	states []limit.State // instead of one, if it counts for other than one limit
	holds  *limit.Holds  // nil until a charge opens one
}

// newCounter returns a counter for a charge.
func newCounter(c *limit.Charge, hash uint32) *counter {
	ct := &counter{key: c.Key, hash: hash}
	if n := len(c.Limits); n != 1 {
		ct.more = &more{states: make([]limit.State, n)}
	}
	return ct
}

// states returns the state of each limit.
func (ct *counter) states() []limit.State {
	if ct.more != nil && ct.more.states != nil {
		return ct.more.states
	}
	return ct.one[:]
}

// holds returns the holds; nil if no charge has opened one.
func (ct *counter) holds() *limit.Holds {
	if ct.more == nil {
		return nil
	}
	return ct.more.holds
}

// fits returns an error if the counter was made for another number of limits.
// The keys of different rules must differ.
func (ct *counter) fits(c *limit.Charge) error {
	if n := len(ct.states()); n != len(c.Limits) {
		return fmt.Errorf("key %q counts %d limits, and is charged for %d", ct.key, n, len(c.Limits))
	}
	return nil
}

// apply makes the charge if it is allowed. It reports whether the counter has
// changed.
func (ct *counter) apply(c *limit.Charge, now time.Time, v *limit.Verdict) bool {
	if c.Hold.ID != 0 && ct.holds() == nil {
		if ct.more == nil {
			ct.more = &more{}
		}
		ct.more.holds = &limit.Holds{}
	}
	changed := limit.Apply(ct.states(), ct.holds(), c, now, v)
	if v.Before != nil {
		v.Receipt.Generation, v.Receipt.Serial = generation, uint64(ct.serial)
	}
	return changed
}

// owns reports whether a receipt is of a charge of this counter.
func (ct *counter) owns(r *limit.Receipt) bool {
	return ct != nil && r.Generation == generation && r.Serial == uint64(ct.serial)
}

// expiry returns the time from now until the last state has left its window, and
// the last hold has ended.
func (ct *counter) expiry(c *limit.Charge, now time.Time) (longest time.Duration) {
	longest = ct.holds().Expiry(now)
	for i, states := 0, ct.states(); i < len(states); i++ {
		longest = max(longest, states[i].Expiry(&c.Limits[i], now))
	}
	return longest
}
