package memory

import (
	"container/heap"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// linger is how long a counter stays after its window has ended, while
	// there is room. A caller whose clock is behind, such as the replay of a
	// log out of order, still finds it, as it would find an item in DynamoDB.
	linger = time.Hour
	// shortLinger replaces linger if there is no room. The clocks of callers in
	// one process differ by less.
	shortLinger = time.Second
)

// counter is the state of one key.
type counter struct {
	key        string
	generation string
	states     []limit.State // one for each limit
	end        time.Time     // when its last window has ended
	due        time.Time     // its place in the queue: never after end
	queued     bool
}

// shard is a part of the keys behind one mutex.
type shard struct {
	mu          sync.Mutex
	counters    map[string]*counter
	queue       queue
	newest      time.Time // the latest time of any caller; one behind it must not revive expired counters
	generations uint64
	bound       int
	known       *known // keys that may fill it; nil for all
}

// boundFor returns how many keys the shard may hold with a new one.
func (sh *shard) boundFor(key string) int {
	if sh.known == nil || sh.known.has(key) {
		return sh.bound
	}
	return max(1, sh.bound/2)
}

// decide fills in v with the verdict that the charge would get from a counter. A
// nil counter was never charged.
func decide(ct *counter, c *limit.Charge, now time.Time, v *limit.Verdict) error {
	if ct == nil {
		var never [limit.MaxLimits]limit.State
		limit.Decide(never[:], c, now, v)
		return nil
	}
	if err := ct.fits(c); err != nil {
		return err
	}
	limit.Decide(ct.states, c, now, v)
	return nil
}

// fits returns an error if the counter was made for another number of limits.
// The keys of different rules must differ.
func (ct *counter) fits(c *limit.Charge) error {
	if len(ct.states) != len(c.Limits) {
		return fmt.Errorf("key %q counts %d limits, and is charged for %d", ct.key, len(ct.states), len(c.Limits))
	}
	return nil
}

// charge makes the charge if it is allowed, on a new counter if there is none
// yet.
func (sh *shard) charge(c *limit.Charge, now time.Time, v *limit.Verdict) error {
	ct := sh.counters[c.Key]
	if err := decide(ct, c, now, v); err != nil || !v.Allowed || c.ZeroCost() {
		return err
	}
	if ct == nil {
		var err error
		if ct, err = sh.open(c, now); err != nil {
			return err
		}
	}
	sh.take(ct, c, now, v)
	return nil
}

// open makes room for a new counter and creates it.
func (sh *shard) open(c *limit.Charge, now time.Time) (*counter, error) {
	sh.reclaim(now, 1, sh.boundFor(c.Key))
	return sh.getOrCreate(c)
}

// getOrCreate returns the key's counter, and creates it if there is none. A new
// counter joins the queue once it is charged.
func (sh *shard) getOrCreate(c *limit.Charge) (*counter, error) {
	if ct := sh.counters[c.Key]; ct != nil {
		return ct, nil
	}
	if len(sh.counters) >= sh.boundFor(c.Key) {
		return nil, ErrFull
	}
	sh.generations++
	ct := &counter{key: c.Key, generation: strconv.FormatUint(sh.generations, 36), states: make([]limit.State, len(c.Limits))}
	sh.counters[c.Key] = ct
	return ct, nil
}

// take makes a charge that decide has allowed.
func (sh *shard) take(ct *counter, c *limit.Charge, now time.Time, v *limit.Verdict) {
	limit.Take(ct.states, c, now, v)
	v.Receipt.Generation = ct.generation
	sh.keep(ct, c, now)
}

// keep computes how long a counter charged now is kept: until the last of its
// states has left its window. That time counts from the newest time of the
// shard, as the ttl in DynamoDB does. Otherwise a counter charged by a late clock
// would be dropped at once.
func (sh *shard) keep(ct *counter, c *limit.Charge, now time.Time) {
	sh.advance(now)
	var longest time.Duration
	for i := range c.Limits {
		longest = max(longest, ct.states[i].Expiry(&c.Limits[i], now))
	}
	ct.end = sh.newest.Add(longest)
	if !ct.queued {
		ct.due, ct.queued = ct.end, true
		heap.Push(&sh.queue, ct)
	}
}

func (sh *shard) advance(now time.Time) {
	if now.After(sh.newest) {
		sh.newest = now
	}
}

// reclaim drops counters whose window ended an hour ago. If the shard has no room
// for the given number of new counters within a bound, it also drops counters whose window ended
// a second ago. A counter's time in the queue may be out of date, so reclaim
// checks the counter again when that time has come.
func (sh *shard) reclaim(now time.Time, more, bound int) {
	sh.advance(now)
	for len(sh.queue) > 0 {
		first, before := sh.queue[0], sh.newest.Add(-linger)
		if len(sh.counters)+more > bound {
			before = sh.newest.Add(-shortLinger)
		}
		if first.due.After(before) {
			return
		}
		if first.end.After(before) {
			first.due = first.end
			heap.Fix(&sh.queue, 0)
			continue
		}
		heap.Pop(&sh.queue)
		delete(sh.counters, first.key)
	}
}

// drop removes a key.
func (sh *shard) drop(key string) {
	if i := slices.Index(sh.queue, sh.counters[key]); i >= 0 { // an unknown key is not in the queue
		heap.Remove(&sh.queue, i)
	}
	delete(sh.counters, key)
}

// queue orders counters by the time at which to look at them again.
type queue []*counter

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*counter)) }

// Pop removes the last counter, as container/heap requires.
func (q *queue) Pop() any {
	last := len(*q) - 1
	ct := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return ct
}
