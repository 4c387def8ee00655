package outage_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/limit"
)

var holds = flag.Int("places.holds", 700, "places to take in each store by processes that are killed")

const (
	processes = 16
	places    = 20
	expires   = time.Second     // of a place
	patience  = 2 * time.Second // the deadline of a call: the machine may be busy
)

func newPlaces(store slidegate.Store) *slidegate.Limiter {
	l, err := slidegate.New(slidegate.InFlight(places, expires), slidegate.WithName("places"), slidegate.WithStore(store),
		slidegate.WithDeadline(patience), slidegate.FailError())
	if err != nil {
		panic(err)
	}
	return l
}

var background = context.Background()

// holdPlaces has this process take places. It says when it starts and ends each
// work, and that it has lost a place before its end.
func holdPlaces(store slidegate.Store) {
	l, last := newPlaces(store), atomic.Int64{}
	for _, take := range []func(context.Context, string, ...int64) (*slidegate.Reservation, error){l.Acquire, l.Reserve, l.Reserve, l.Reserve} {
		go func() {
			for ; ; time.Sleep(rand.N(20 * time.Millisecond)) {
				r, err := take(background, "key")
				if err != nil || !r.Allowed {
					continue
				}
				id := last.Add(1)
				fmt.Println("start", id, time.Now().UnixNano())
				end, err := workIn(r, id == 1 || rand.IntN(40) == 0) // so that the new processes fill all places
				fmt.Println("end", id, time.Now().UnixNano())
				if err == nil {
					err = r.Cancel(background)
				}
				if time.Now().Before(end) && (errors.Is(err, limit.ErrClosed) || errors.Is(err, limit.ErrReset)) {
					fmt.Println("lost", id, err)
				}
			}
		}()
	}
}

// workIn works for some time, and renews its place at half of expires. It returns
// the end of the place. It may kill its process while it renews.
func workIn(r *slidegate.Reservation, long bool) (end time.Time, err error) {
	end = time.Now().Add(expires)
	left := time.Duration(rand.ExpFloat64() * float64(10*time.Millisecond))
	if long {
		left = expires/2 + rand.N(expires)
	}
	for ; left > expires/2; left -= expires / 2 {
		time.Sleep(expires / 2)
		if self, _ := os.FindProcess(os.Getpid()); rand.IntN(20) == 0 {
			time.AfterFunc(rand.N(5*time.Millisecond), func() { _ = self.Kill() })
		}
		now := time.Now()
		if err = r.Renew(background); err != nil {
			return end, err
		}
		end = now.Add(expires)
	}
	time.Sleep(left)
	return end, nil
}

// TestPlacesOfKilledProcesses has processes that are killed at any time take
// places, and counts by the clock of the machine how many work at once.
func TestPlacesOfKilledProcesses(t *testing.T) {
	onBoth(t, processes, "hold", func(t *testing.T, c *crew, store slidegate.Store) {
		type change struct{ at, by int64 }
		var changes []change
		starts, cut, deaths, working, enough := 0, 0, 0, map[int]int{}, make(chan struct{})
		c.said = func(pid int, words []string) {
			at, _ := strconv.ParseInt(words[2], 10, 64)
			by := map[string]int{"start": 1, "end": -1}[words[0]]
			if working[pid] += by; by == 0 {
				t.Error(pid, words) // lost
			}
			changes = append(changes, change{at, int64(by)})
			if starts += max(by, 0); by > 0 && starts == *holds {
				close(enough)
			}
		}
		c.died = func(pid int, at time.Time) {
			changes = append(changes, change{at.UnixNano(), int64(-working[pid])})
			cut, deaths = cut+working[pid], deaths+1
		}
		begun := time.Now()
		c.start()
		c.killSome(800*time.Millisecond, enough)
		c.end()
		end := time.Now()
		slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
		var now, most, above int64
		for _, change := range changes {
			if now += change.by; change.by > 0 && now > places {
				above++
			}
			most = max(most, now)
		}
		l, free := newPlaces(store), int64(0)
		for free < places && time.Since(end) < 2*(expires+limit.HoldMargin) {
			time.Sleep(10 * time.Millisecond)
			r, _ := l.Peek(t.Context(), "key")
			free = r.Remaining
		}
		waited := time.Since(end)
		t.Logf("%d holds in %v, %d processes killed, %d by the test, %d holds cut off; most at work %d, above %d; %d free %v after the last kill",
			starts, end.Sub(begun), deaths, c.kills, cut, most, above, free, waited)
		if above > 0 || most < places/4 || cut == 0 || waited > expires+limit.HoldMargin+time.Second/2 { // clocks may be half a second apart
			t.Errorf("want at most %d at work, and all places free in time", places)
		}
		for i := range places + 1 {
			if r, err := l.Reserve(t.Context(), "key"); err != nil || r.Allowed != (i < places) {
				t.Fatalf("place %d: %+v, %v", i, r, err)
			}
		}
	})
}
