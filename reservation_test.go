package slidegate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limittest"
)

// TestReserve is a table of reservations on a fresh limiter: what is left of each
// limit after the reservation, and after its settlement.
func TestReserve(t *testing.T) {
	requests := slidegate.FixedWindow(10, time.Minute).WithName("requests")
	tokens := slidegate.SlidingWindow(1000, time.Hour).WithName("llm-tokens")
	bucket := slidegate.TokenBucket(10, time.Second, 0).WithName("bucket")
	type units = []int64
	for _, test := range []struct {
		name     string
		limits   []slidegate.Option
		reserved units
		settled  units // nil cancels
		left     units
		after    units
	}{
		{"fewer units are returned", []slidegate.Option{tokens}, units{400}, units{150}, units{600}, units{850}},
		{"more are charged", []slidegate.Option{tokens}, units{400}, units{450}, units{600}, units{550}},
		{"all are cancelled", []slidegate.Option{tokens}, units{400}, nil, units{600}, units{1000}},
		{"several limits, one number for each", []slidegate.Option{requests, tokens}, units{1, 400}, units{1, 150}, units{9, 600}, units{9, 850}},
		{"in the order given", []slidegate.Option{tokens, requests}, units{400, 1}, units{150, 1}, units{600, 9}, units{850, 9}},
		{"all limits are cancelled", []slidegate.Option{requests, tokens}, units{2, 2}, nil, units{8, 998}, units{10, 1000}},
		{"a bucket among them keeps its charge", []slidegate.Option{tokens, bucket}, units{400, 3}, units{150, 0}, units{600, 7}, units{850, 7}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, withClock := stopped()
			lim := newLimiter(t, append(test.limits, withClock)...)
			r, err := lim.Reserve(t.Context(), "k", test.reserved...)
			if err != nil || !r.Allowed {
				t.Fatal(r, err)
			}
			check(t, lim, test.left)
			settle := func() error { return r.Settle(t.Context(), test.settled...) }
			if test.settled == nil {
				settle = func() error { return r.Cancel(t.Context()) }
			}
			if err := settle(); err != nil {
				t.Fatal(err)
			}
			check(t, lim, test.after)
			if err := settle(); err == nil || err.Error() != "slidegate: limiter default: the reservation was settled before, or has ended" {
				t.Errorf("a second settlement: %v", err)
			}
			check(t, lim, test.after)
		})
	}
}

// check compares the units that remain for key k.
func check(t *testing.T, lim *slidegate.Limiter, want []int64) {
	t.Helper()
	r, err := lim.Peek(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	got := []int64{r.Remaining}
	if len(r.Limits) > 0 {
		got = nil
	}
	for _, l := range r.Limits {
		got = append(got, l.Remaining)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d left; want %d", got, want)
	}
}

func TestReserveDenied(t *testing.T) {
	_, withClock := stopped()
	lim := newLimiter(t, slidegate.SlidingWindow(10, time.Minute), withClock)
	r, err := lim.Reserve(t.Context(), "k", 11)
	if err != nil || r.Allowed || r.RetryAfter != slidegate.Never {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := r.Settle(t.Context(), 5); err != nil { // nothing to settle
		t.Error(err)
	}
	check(t, lim, []int64{10})
}

// TestReserveRefused: nothing can be returned to token buckets and logs.
func TestReserveRefused(t *testing.T) {
	lim := newLimiter(t, slidegate.TokenBucket(10, time.Second, 0))
	const want = "slidegate: limiter default: nothing can be returned to a TokenBucket: reserve from a SlidingWindow or another window"
	if r, err := lim.Reserve(t.Context(), "k"); err == nil || err.Error() != want {
		t.Errorf("%v, %v; want %s", r, err, want)
	}
	check(t, lim, []int64{10})
}

// TestSettleFails: a settlement that the store fails returns an error, which an
// observer gets too, and cannot be repeated: it may have been made.
func TestSettleFails(t *testing.T) {
	_, withClock := stopped()
	var recorder limittest.Recorder
	store := limittest.NewStore(limittest.Count(), limittest.Fail(errDown), limittest.Count())
	lim := newLimiter(t, slidegate.SlidingWindow(10, time.Minute), named, quiet, withClock, slidegate.WithStore(store),
		slidegate.WithObserver(recorder.Observe))
	r, err := lim.Reserve(t.Context(), "k", 5)
	if err != nil {
		t.Fatal(err)
	}
	recorder.Reset()
	if err := r.Settle(t.Context(), 2); !errors.Is(err, errDown) {
		t.Errorf("%v; want %v", err, errDown)
	}
	if events := recorder.Events(); len(events) != 1 || events[0].Action != "settle" || !errors.Is(events[0].Err, errDown) || events[0].Key != "k" {
		t.Errorf("events %+v", events)
	}
	if err := r.Settle(t.Context(), 2); err == nil || errors.Is(err, errDown) {
		t.Errorf("a second settlement: %v", err)
	}
	check(t, lim, []int64{5})
}

// TestSettleHangup: a client does not keep units reserved by hanging up.
func TestSettleHangup(t *testing.T) {
	_, withClock := stopped()
	for _, store := range []slidegate.Store{slidegate.NewMemory(0), limittest.NewStore()} {
		lim := newLimiter(t, slidegate.SlidingWindow(10, time.Minute), named, withClock, slidegate.WithStore(store))
		ctx, cancel := context.WithCancel(t.Context())
		r, err := lim.Reserve(ctx, "k", 5)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := r.Cancel(ctx); err != nil {
			t.Error(err)
		}
		check(t, lim, []int64{10})
	}
}

// TestReserveWhileDown: what the error policy allowed is settled where it was
// counted, if anywhere.
func TestReserveWhileDown(t *testing.T) {
	for name, policy := range map[string]slidegate.ErrorPolicy{"local": slidegate.FailLocal(2), "open": slidegate.FailOpen()} {
		_, withClock := stopped()
		store := limittest.NewStore(limittest.Fail(errDown))
		lim := newLimiter(t, slidegate.SlidingWindow(10, time.Minute), named, quiet, withClock, slidegate.WithStore(store), policy)
		r, err := lim.Reserve(t.Context(), "k", 4)
		if err != nil || !r.Allowed {
			t.Fatal(r, err)
		}
		if err := r.Settle(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r, err = lim.Reserve(t.Context(), "k", 4)
		if err != nil || !r.Allowed { // 1 and 4 of a half of 10
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		for _, call := range store.Calls() {
			if call.Op != "charge" {
				t.Errorf("%s: the store got %+v", name, call)
			}
		}
	}
}

// TestSettleOnce: of concurrent settlements one counts.
func TestSettleOnce(t *testing.T) {
	_, withClock := stopped()
	lim := newLimiter(t, slidegate.SlidingWindow(10, time.Minute), withClock)
	r, err := lim.Reserve(t.Context(), "k", 2)
	if err != nil {
		t.Fatal(err)
	}
	var settled atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r.Settle(t.Context(), 3) == nil {
				settled.Add(1)
			}
		})
	}
	wg.Wait()
	if settled.Load() != 1 {
		t.Errorf("%d settlements succeeded", settled.Load())
	}
	check(t, lim, []int64{7})
}

// TestWait is a trace of waits one after the other on one key: how long each
// blocks. The bubble's time begins at midnight.
func TestWait(t *testing.T) {
	type wait struct {
		n     int64
		takes time.Duration
	}
	for _, test := range []struct {
		name  string
		limit slidegate.Limit
		waits []wait
	}{
		{"a window", slidegate.FixedWindow(2, time.Minute), []wait{{1, 0}, {1, 0}, {1, time.Minute}, {2, time.Minute}, {0, 0}}},
		{"a sliding window", slidegate.SlidingWindow(2, time.Minute), []wait{{2, 0}, {1, 61 * time.Second}, {1, 0}, {2, 61 * time.Second}}},
		{"a log", slidegate.SlidingLog(2, time.Minute), []wait{{1, 0}, {1, 0}, {1, time.Minute}, {1, 0}, {2, time.Minute}}},
		{"a token bucket", slidegate.TokenBucket(10, time.Second, 2), []wait{{2, 0}, {1, 100 * time.Millisecond}, {2, 200 * time.Millisecond}}},
		{"a leaky bucket sends its requests evenly", slidegate.LeakyBucket(10, time.Second, 2),
			[]wait{{1, 0}, {1, 100 * time.Millisecond}, {1, 100 * time.Millisecond}, {2, 100 * time.Millisecond}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, test.limit)
			for i, w := range test.waits {
				start := time.Now()
				if err := lim.WaitN(t.Context(), "k", w.n); err != nil || time.Since(start) != w.takes {
					t.Errorf("%s: wait %d for %d units took %v, %v; want %v", test.name, i+1, w.n, time.Since(start), err, w.takes)
				}
			}
		})
	}
}

// TestWaitQueue: of eight that wait at once on a leaky bucket with room for
// three, each leaves at its turn.
func TestWaitQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.LeakyBucket(10, time.Second, 3))
		start := time.Now()
		var mu sync.Mutex
		var left []time.Duration
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := lim.Wait(t.Context(), "k"); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				left = append(left, time.Since(start))
			})
		}
		wg.Wait()
		for i, at := range slices.Sorted(slices.Values(left)) {
			if want := time.Duration(i) * 100 * time.Millisecond; at != want {
				t.Errorf("request %d left after %v; want %v", i+1, at, want)
			}
		}
	})
}

// TestTurns: five callers reserve turns of a leaky bucket, one in 100 ms, and some
// cancel them. The next has the first turn behind those that are kept.
func TestTurns(t *testing.T) {
	for _, test := range []struct {
		name    string
		cancels []int // turns, in this order
		at      time.Duration
		next    string
	}{
		{"none is cancelled", nil, 0, "500ms 600ms"},
		{"the last one", []int{4}, 0, "400ms 500ms"},
		{"one with others behind it stays", []int{2}, 0, "500ms 600ms"},
		{"the last ones, in any order", []int{2, 4, 3}, 0, "200ms 300ms"},
		{"all, the first one first", []int{0, 1, 2, 3, 4}, 0, "0s 100ms"},
		{"turns that have come are used", []int{4, 3, 2, 1, 0}, 250 * time.Millisecond, "300ms 400ms"},
		{"all have come", []int{0, 1, 2, 3, 4}, 450 * time.Millisecond, "500ms 600ms"},
	} {
		clock, withClock := stopped()
		lim := newLimiter(t, slidegate.LeakyBucket(10, time.Second, 10), withClock)
		reserve := func() *slidegate.Reservation {
			r, err := lim.Reserve(t.Context(), "k")
			if err != nil || !r.Allowed {
				t.Fatal(r, err)
			}
			return r
		}
		var all []*slidegate.Reservation
		for range 5 {
			all = append(all, reserve())
		}
		clock.Advance(test.at)
		for _, i := range test.cancels {
			if err := all[i].Cancel(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if next := fmt.Sprint(reserve().Delay+test.at, " ", reserve().Delay+test.at); next != test.next {
			t.Errorf("%s: the next turns are at %s, want %s", test.name, next, test.next)
		}
	}
}

// TestWaitsCancelled: five wait for a leaky bucket and give up, one of them first.
// The next waits for no turn of theirs.
func TestWaitsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.LeakyBucket(1, 200*time.Millisecond, 10))
		start, wait := time.Now(), func(ctx context.Context) { _ = lim.Wait(ctx, "k") }
		wait(t.Context())
		together, giveUp := context.WithCancel(t.Context())
		alone, leave := context.WithTimeout(t.Context(), time.Hour)
		for _, ctx := range []context.Context{together, together, alone, together, together} {
			go wait(ctx)
		}
		for _, end := range []func(){func() {}, leave, giveUp} {
			synctest.Wait()
			end()
		}
		synctest.Wait()
		if wait(t.Context()); time.Since(start) != 200*time.Millisecond {
			t.Errorf("the next had its turn after %v", time.Since(start))
		}
	})
}

// TestWaitForSeveral: others take single units of a bucket as fast as it refills,
// and a caller who wants several comes to its turn. Another key is not held up.
func TestWaitForSeveral(t *testing.T) {
	for _, limit := range []slidegate.Limit{slidegate.TokenBucket(50, time.Second, 50), slidegate.LeakyBucket(50, time.Second, 50)} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, limit)
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			defer stop()
			for range 60 {
				go func() {
					for lim.Wait(ctx, "k") == nil {
					}
				}()
			}
			time.Sleep(1200 * time.Millisecond)
			var all sync.WaitGroup
			for _, n := range []int64{2, 10, 50} {
				all.Go(func() {
					if err := lim.WaitN(ctx, "k", n); err != nil {
						t.Errorf("%v: %d units: %v", limit, n, err)
					}
				})
			}
			synctest.Wait()
			soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if other, behind := lim.Wait(soon, "other"), lim.Wait(soon, "k"); other != nil || !errors.Is(behind, context.DeadlineExceeded) {
				t.Errorf("%v: in a millisecond another key got %v, and one behind %v", limit, other, behind)
			}
			all.Wait()
		})
	}
}

// TestWaitFails: a wait that cannot succeed fails at once, and charges no window.
func TestWaitFails(t *testing.T) {
	minute := slidegate.FixedWindow(2, time.Minute)
	for _, test := range []struct {
		name   string
		limit  slidegate.Limit
		taken  int64 // before
		n      int64
		within time.Duration // until the context ends
		want   error
		text   string
		left   int64
	}{
		{"more units than the limit holds", minute, 0, 3, time.Hour, slidegate.ErrNever, "the request costs more than the limit can ever allow", 2},
		{"the context ends too early", minute, 2, 1, 59 * time.Second, context.DeadlineExceeded, "the next turn is in 1m0s: context deadline exceeded", 0},
		{"the context has ended", minute, 0, 1, -time.Second, context.DeadlineExceeded, "context deadline exceeded", 2},
		{"the turn of a leaky bucket comes too late, and is given back", slidegate.LeakyBucket(1, time.Second, 2), 1, 1, 999 * time.Millisecond,
			context.DeadlineExceeded, "the next turn is in 1s: context deadline exceeded", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, test.limit)
			if _, err := lim.AllowN(t.Context(), "k", test.taken); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.within)
			defer cancel()
			start := time.Now()
			err := lim.WaitN(ctx, "k", test.n)
			if !errors.Is(err, test.want) || err.Error() != "slidegate: limiter default: "+test.text || time.Since(start) != 0 {
				t.Errorf("%s: after %v: %v; want %s", test.name, time.Since(start), err, test.text)
			}
			check(t, lim, []int64{test.left})
		})
	}
}

// TestWaitThroughFailures: a wait asks again each second under FailClosed.
func TestWaitThroughFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail, count := limittest.Fail(errDown), limittest.Count()
		lim := newLimiter(t, slidegate.FixedWindow(2, time.Minute), named, quiet, withStore(fail, fail, count),
			slidegate.FailClosed())
		start := time.Now()
		if err := lim.Wait(t.Context(), "k"); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestInFlight: places are taken one by one, given back by Cancel and by Settle,
// prolonged by Renew, and free again three seconds after they expire.
func TestInFlight(t *testing.T) {
	clock, withClock := stopped()
	lim := newLimiter(t, withClock, slidegate.InFlight(2, 90*time.Second), slidegate.SlidingWindow(1000, time.Hour).WithName("tokens"))
	held := map[string]*slidegate.Reservation{}
	for _, step := range []struct {
		advance  time.Duration
		call, by string // reserve, settle, cancel or renew; by whom
		costs    []int64
		err      string // of settle, cancel and renew; of reserve, why it is denied
		left     []int64
	}{
		{0, "reserve", "a", []int64{1, 400}, "", []int64{1, 600}},
		{0, "reserve", "b", []int64{1, 1}, "", []int64{0, 599}},
		{0, "reserve", "c", []int64{1, 1}, "denied, 0 left, retry 1s", []int64{0, 599}},
		{0, "reserve", "d", []int64{0, 9}, "", []int64{0, 590}}, // takes no place
		{0, "cancel", "c", nil, "", []int64{0, 590}},            // has none
		{0, "settle", "a", []int64{1, 150}, "", []int64{1, 840}},
		{0, "settle", "a", []int64{1, 150}, "settled before", []int64{1, 840}},
		{0, "renew", "a", nil, "settled before", []int64{1, 840}},
		{0, "reserve", "e", nil, "", []int64{0, 839}},
		{60 * time.Second, "renew", "b", nil, "", []int64{0, 839}},
		{33*time.Second + time.Millisecond, "reserve", "f", []int64{1, 1}, "", []int64{0, 838}}, // in place of e
		{0, "cancel", "e", nil, "has ended", []int64{0, 838}},                                   // and its unit stays
		{0, "cancel", "b", nil, "", []int64{1, 839}},
		{0, "cancel", "f", nil, "", []int64{2, 840}},
	} {
		clock.Advance(step.advance)
		var err error
		switch r := held[step.by]; step.call {
		case "reserve":
			if r, err = lim.Reserve(t.Context(), "k", step.costs...); err == nil && !r.Allowed {
				err = errors.New(describe(r.Result))
			}
			held[step.by] = r
		case "settle":
			err = r.Settle(t.Context(), step.costs...)
		case "cancel":
			err = r.Cancel(t.Context())
		case "renew":
			err = r.Renew(t.Context())
		}
		if (err != nil) != (step.err != "") || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("%s %s: error %v, want %q", step.call, step.by, err, step.err)
		}
		if err != nil && step.call != "reserve" && !errors.Is(err, slidegate.ErrClosed) {
			t.Errorf("%s %s: %v is not ErrClosed", step.call, step.by, err)
		}
		check(t, lim, step.left)
	}
}

// TestPlacesAreGivenBack: a place cannot be taken by calls that return nothing to
// give it back with, and no request takes two.
func TestPlacesAreGivenBack(t *testing.T) {
	lim := newLimiter(t, slidegate.InFlight(20, time.Minute))
	places, window := lim, newLimiter(t, slidegate.SlidingWindow(9, time.Minute))
	const givenBack = "slidegate: limiter default: a place of InFlight must be given back: call Reserve or Acquire, and then Settle or Cancel of the Reservation"
	ctx := t.Context()
	of := func(lim *slidegate.Limiter) *slidegate.Reservation {
		r, err := lim.Reserve(ctx, "other")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for want, errs := range map[string][]error{
		givenBack: {
			second(places.Allow(ctx, "k")), second(places.AllowN(ctx, "k", 1)), second(places.AllowCosts(ctx, "k", 0)),
			second(places.AllowAt(ctx, noon, "k")), places.Wait(ctx, "k"), places.WaitN(ctx, "k", 1), places.WaitCosts(ctx, "k", 1),
		},
		"slidegate: limiter default: 2 places: a request takes one place InFlight: give 1, or 0 for none": {
			second(places.Reserve(ctx, "k", 2)), second(places.Acquire(ctx, "k", 2)), of(places).Settle(ctx, 2),
		},
		"slidegate: limiter default: only a place InFlight can be renewed": {of(window).Renew(ctx)},
	} {
		for i, err := range errs {
			if err == nil || err.Error() != want {
				t.Errorf("call %d: %v, want %s", i, err, want)
			}
		}
	}
	check(t, lim, []int64{20})
}

// TestAcquire: twenty who wait for five places ask about once a second, not all at
// the same time, and each has its place.
func TestAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		lim := newLimiter(t, slidegate.InFlight(5, time.Minute),
			slidegate.WithObserver(func(context.Context, slidegate.Event) { asked.Add(1) }))
		var work sync.WaitGroup
		var working, most atomic.Int64
		start := time.Now()
		for range 20 {
			work.Go(func() {
				r, err := lim.Acquire(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), working.Add(1)))
				time.Sleep(10 * time.Second)
				working.Add(-1)
				if err := r.Cancel(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if most.Load() != 5 {
			t.Errorf("%d worked at once, want 5", most.Load())
		}
		if took := time.Since(start); took < 40*time.Second || took > 45*time.Second {
			t.Errorf("took %v", took)
		}
		if n := asked.Load(); n < 200 || n > 500 { // 15, 10 and 5 who wait 10 s each
			t.Errorf("asked %d times", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for range 5 {
			if _, err := lim.Acquire(ctx, "k"); err != nil {
				t.Error(err)
			}
		}
		if _, err := lim.Acquire(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a place: %v", err)
		}
	})
}
