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
	key     string
	hash    uint32
	serial  uint32 // another one for each counter of a key: four billion take minutes to create
	one     [1]limit.State
	several *[]limit.State // instead of one, if it counts for other than one limit
	end     int64          // when its last window has ended, in Unix nanoseconds
	next    *counter       // in its list of the queue
	link    **counter      // to this counter in that list; nil before its first charge
}

// newCounter returns a counter for a charge.
func newCounter(c *limit.Charge, hash uint32) *counter {
	ct := &counter{key: c.Key, hash: hash}
	if n := len(c.Limits); n != 1 {
		several := make([]limit.State, n)
		ct.several = &several
	}
	return ct
}

// receipt returns the receipt of a charge of these slots.
func (ct *counter) receipt(slots [limit.MaxLimits]int64) limit.Receipt {
	return limit.Receipt{Generation: generation, Serial: uint64(ct.serial), Slots: slots}
}

// states returns the state of each limit.
func (ct *counter) states() []limit.State {
	if ct.several != nil {
		return *ct.several
	}
	return ct.one[:]
}

// fits returns an error if the counter was made for another number of limits.
// The keys of different rules must differ.
func (ct *counter) fits(c *limit.Charge) error {
	if n := len(ct.states()); n != len(c.Limits) {
		return fmt.Errorf("key %q counts %d limits, and is charged for %d", ct.key, n, len(c.Limits))
	}
	return nil
}

// expiry returns the time from now until the last state has left its window.
func (ct *counter) expiry(c *limit.Charge, now time.Time) (longest time.Duration) {
	for i, states := 0, ct.states(); i < len(states); i++ {
		longest = max(longest, states[i].Expiry(&c.Limits[i], now))
	}
	return longest
}
