package memory

import (
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

// shard is a part of the keys behind one mutex. What every charge needs is in one
// line of a cache.
type shard struct {
	mu     sync.Mutex
	newest int64 // the latest time of any caller; one behind it must not revive expired counters
	table  table
	known  *known // keys that may fill it; nil for all
	bound  int

	index  int    // in the store
	serial uint32 // of the latest counter
	queue  queue
	_      [96]byte // keeps two shards out of one line, and each at the start of one
}

// boundFor returns how many keys the shard may hold with a new one.
func (sh *shard) boundFor(key string) int {
	if sh.known == nil || sh.known.has(key) {
		return sh.bound
	}
	return max(1, sh.bound/2)
}

// charge makes the charge if it is allowed, on a new counter if there is none
// yet.
func (sh *shard) charge(c *limit.Charge, hash uint32, now time.Time, v *limit.Verdict) error {
	ct, err := sh.counter(c, hash)
	if err != nil {
		return err
	}
	var made bool
	if c.Hold.ID == 0 { // as of most charges: apply, without one more call
		made = limit.Apply(ct.states(), ct.holds(), c, now, v)
	} else {
		made = ct.apply(c, now, v)
	}
	if !made {
		return nil
	}
	if ct.link == nil {
		if err := sh.add(ct, now); err != nil {
			return err
		}
	}
	sh.charged(ct, now, v)
	return nil
}

// counter returns the counter for a charge. One that is new does not belong to
// the shard yet: it joins the queue once it is charged.
func (sh *shard) counter(c *limit.Charge, hash uint32) (*counter, error) {
	ct := sh.table.find(hash, c.Key)
	if ct == nil {
		return newCounter(c, hash), nil
	}
	return ct, ct.fits(c)
}

// add makes room for a new counter, and adds it.
func (sh *shard) add(ct *counter, now time.Time) error {
	bound := sh.boundFor(ct.key)
	sh.reclaim(now, 1, bound)
	if sh.table.n >= bound {
		return ErrFull
	}
	sh.serial++
	ct.serial = sh.serial
	sh.table.add(ct)
	return nil
}

// charged notes a charge that was made. By v.Reset all units of the counter have
// left their windows, and its holds may last longer.
func (sh *shard) charged(ct *counter, now time.Time, v *limit.Verdict) {
	v.Receipt.Generation, v.Receipt.Serial = generation, uint64(ct.serial)
	lasts := v.Reset
	if ct.more != nil {
		lasts = max(lasts, ct.holds().Expiry(now))
	}
	sh.keep(ct, now, lasts)
}

// keep computes how long a counter charged now is kept: until the last of its
// states has left its window. That time counts from the newest time of the
// shard, as the ttl in DynamoDB does. Otherwise a counter charged by a late clock
// would be dropped at once.
func (sh *shard) keep(ct *counter, now time.Time, longest time.Duration) {
	sh.advance(now)
	ct.end = sh.newest + int64(longest)
	if ct.link == nil {
		sh.queue.push(ct)
	}
}

func (sh *shard) advance(now time.Time) { sh.newest = max(sh.newest, now.UnixNano()) }

// reclaim drops counters whose window ended an hour ago. If the shard has no room
// for the given number of new counters within a bound, it drops those whose
// window ended a second ago.
func (sh *shard) reclaim(now time.Time, more, bound int) {
	sh.advance(now)
	before := sh.newest - int64(linger)
	if sh.table.n+more > bound {
		before = sh.newest - int64(shortLinger)
	}
	sh.queue.advance(before, sh.table.remove)
}

// drop removes a key.
func (sh *shard) drop(hash uint32, key string) {
	ct := sh.table.find(hash, key)
	if ct == nil {
		return
	}
	sh.table.remove(ct)
	if ct.link != nil {
		sh.queue.remove(ct)
	}
}
