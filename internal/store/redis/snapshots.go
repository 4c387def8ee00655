package redis

import (
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
)

// maxSnapshots bounds the snapshots of a store. One of a limit with 60 slots
// takes about 1.2 KB, and one of a full log of 1,000 requests 16 KB. Losing one
// costs a call.
const maxSnapshots = 10_000

// snapshot is the state of a counter without room for the charge that the server
// answered with it. While nothing is refunded, the server denies that charge
// until units leave the window: charges of others only add units.
type snapshot struct {
	states []limit.State
	holds  *limit.Holds // nil if the answer did not say
	now    time.Time    // by which the script decided
	// sent and received are when the call began and ended, if the server's clock
	// decides.
	sent, received clock.Reading
}

// serverTime returns bounds of the clock that decides, at a later reading of this
// machine's clocks. Between sending and receiving it was at s.now, and has moved
// as far as this machine's since.
//
// Of the two clocks of the machine, the one that has moved further bounds it from
// above: the wall clock may have been set back, and the monotonic clock stands
// still while a Lambda is frozen. A wall clock that was set forward makes the
// store ask the server too early.
//
// The server's clock tells whole microseconds, and was up to one further.
//
// Example: sent at 10.0 ms, received at 10.4 ms, s.now is 500 ms. At 20.4 ms the
// server's clock is at 510.0 to 510.4 ms, give or take 3 µs.
func (s *snapshot) serverTime(r clock.Reading) (earliest, latest time.Time) {
	most := max(r.Wall.Sub(s.sent.Wall), r.Mono-s.sent.Mono)
	least := max(0, min(r.Wall.Sub(s.received.Wall), r.Mono-s.received.Mono))
	return s.now.Add(least - clock.Drift(least)), s.now.Add(most + clock.Drift(most) + time.Microsecond)
}

// snapshots keeps the latest snapshot of each counter that has denied, within a
// bound.
type snapshots struct {
	cache cache.Cache[string, *snapshot]
	// clock reads the machine's clocks; nil if the caller's clock decides.
	clock clock.Source
}

// newSnapshots returns an empty cache; nil if the options want none.
func newSnapshots(opts Options) *snapshots {
	if opts.Clock == nil {
		return nil
	}
	ss := &snapshots{cache: cache.New[string, *snapshot](maxSnapshots)}
	if !opts.CallerClock {
		ss.clock = opts.Clock
	}
	return ss
}

// start returns a snapshot for the answer of a call that begins now.
func (ss *snapshots) start() (s snapshot) {
	if ss != nil && ss.clock != nil {
		s.sent = ss.clock()
	}
	return s
}

// put keeps the state that an answer has just shown.
func (ss *snapshots) put(key string, s snapshot) {
	if ss.clock != nil {
		s.received = ss.clock()
	}
	ss.cache.Set(key, &s)
}

func (ss *snapshots) drop(key string) {
	if ss == nil {
		return
	}
	if _, ok := ss.cache.Get(key); ok {
		ss.cache.Remove(key)
	}
}

// denies reports whether a snapshot proves that the charge would be denied now;
// if so v holds the denial. The time is the caller's, if that decides.
//
// The verdict is by the earliest time that the server's clock may have, so that
// the wait is never too short. The proof is by the latest: the wait must not be
// over by then. A place in flight may be free at any time, so that there was none
// proves a denial for limit.HoldAge.
func (ss *snapshots) denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	s, ok := ss.cache.Get(c.Key)
	if !ok || len(s.states) != len(c.Limits) || c.Hold.ID != 0 && s.holds == nil {
		return false // a charge that has a hold may have been made before
	}
	earliest, latest := now, now
	if ss.clock != nil {
		earliest, latest = s.serverTime(ss.clock())
	}
	if !limit.Fresh(s.now, latest) {
		return false
	}
	limit.Decide(s.states, s.holds, c, earliest, v)
	for i := range v.Limits {
		r := &v.Limits[i]
		proven := r.RetryAfter == limit.Never || r.RetryAfter > latest.Sub(earliest)
		if c.Limits[i].Algorithm == limit.InFlight {
			proven = latest.Sub(s.now).Abs() <= limit.HoldAge
		}
		if proven && !r.Allowed {
			return true
		}
	}
	return false
}
