package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo"
)

// TestOneLookInFlight: a thousand requests for a new key make one read, and a thousand for an old one too.
func TestOneLookInFlight(t *testing.T) {
	api := &shelf{}
	api.put("k", "{capacity: 5}")
	cache, _ := newCache(api, 0)
	for round, at := range []time.Duration{0, time.Minute, time.Hour} {
		gate := make(chan struct{})
		api.set(nil, gate)
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() { // side by side, so their moments differ
				got, err := cache.Override(t.Context(), epoch.Add(at+time.Duration(i)*time.Millisecond), "api", "k")
				if err != nil || !sameOverride(got, capacityOf(5)) {
					t.Errorf("%+v, error %v", got, err)
				}
			})
		}
		close(gate)
		wg.Wait()
		if n := api.read("k"); n != round+1 {
			t.Fatalf("%d reads in round %d, want %d", n, round, round+1)
		}
	}
}

// TestLandedFlight: a request that has missed the cache just before a look ended does not look again.
func TestLandedFlight(t *testing.T) {
	api := &shelf{}
	cache, _ := newCache(api, 0)
	for i := range 2000 {
		key := fmt.Sprint("k", i)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := cache.Override(t.Context(), epoch, "api", key); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := api.read(key); n != 1 {
			t.Fatalf("%d reads of %s", n, key)
		}
	}
}

// TestLooksAreApart: looks in flight at once for different keys, or different rules, do not take each other's answer.
func TestLooksAreApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate := &shelf{}, make(chan struct{})
		cache, _ := newCache(api, 0)
		places := [][2]string{{"api", "k"}, {"api", "k2"}, {"chat", "k"}, {"plan", "k"}}
		for i, at := range places {
			api.put(strings.TrimPrefix(at[0]+"/"+at[1], "api/"), fmt.Sprintf("{capacity: %d}", i+1))
		}
		api.set(nil, gate)
		var wg sync.WaitGroup
		for i, at := range places {
			wg.Go(func() {
				got, err := cache.Override(t.Context(), epoch, at[0], at[1])
				if err != nil || !sameOverride(got, capacityOf(int64(i+1))) {
					t.Errorf("rule %s, key %s: %+v, error %v; want %d", at[0], at[1], got, err, i+1)
				}
			})
		}
		synctest.Wait()
		close(gate)
		wg.Wait()
	})
}

// TestSlowTable: whoever starts a look waits 100 ms for it, all others not at all; the answer is kept when it comes.
func TestSlowTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate := &shelf{}, make(chan struct{})
		api.put("k", "{capacity: 5}")
		cache, reports := newCache(api, 0)
		ask := func(want int64, took time.Duration) {
			t.Helper()
			start := time.Now()
			got, err := cache.Override(t.Context(), epoch.Add(time.Since(born)), "api", "k")
			if err != nil || !sameOverride(got, capacityOf(want)) || time.Since(start) != took {
				t.Errorf("%+v, error %v after %v; want %d after %v", got, err, time.Since(start), want, took)
			}
		}
		ask(5, 0)
		time.Sleep(10 * time.Second)
		api.put("k", "{capacity: 6}")
		api.set(nil, gate)
		ask(5, 100*time.Millisecond)
		ask(5, 0)
		close(gate)
		time.Sleep(time.Millisecond)
		ask(6, 0)

		time.Sleep(10 * time.Second)
		api.set(nil, make(chan struct{})) // for good
		ask(6, 100*time.Millisecond)
		time.Sleep(5 * time.Second)
		if errs := reports.take(); len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) {
			t.Errorf("reported %v, want one ErrTimeout", errs)
		}
		ask(6, 0) // not asked again for ten seconds
		if n := api.read("k"); n != 3 {
			t.Errorf("%d reads, want 3", n)
		}
	})
}

// born is when the clock of every bubble starts.
var born = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestGivingUp: a request that cannot wait leaves the look to the others, and to the next.
func TestGivingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate := &shelf{}, make(chan struct{})
		api.put("k", "{capacity: 5}")
		api.set(nil, gate)
		cache, _ := newCache(api, 0)
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
			defer cancel()
			_, err := cache.Override(ctx, epoch, "api", "k")
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `rule api for key "k"`) {
				t.Errorf("error %v", err)
			}
		})
		wg.Go(func() {
			if got, err := cache.Override(t.Context(), epoch, "api", "k"); err != nil || !sameOverride(got, capacityOf(5)) {
				t.Errorf("%+v, error %v: the look was given up with the first request", got, err)
			}
		})
		time.Sleep(time.Second)
		close(gate)
		wg.Wait()
		if got, err := cache.Override(t.Context(), epoch, "api", "k"); err != nil || !sameOverride(got, capacityOf(5)) || api.read("k") != 1 {
			t.Errorf("%+v, error %v, %d reads", got, err, api.read("k"))
		}

		api.set(nil, make(chan struct{}))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if got, err := cache.Override(ended, epoch.Add(time.Minute), "api", "k"); err != nil || !sameOverride(got, capacityOf(5)) || time.Since(start) != 0 {
			t.Errorf("a cancelled request waits %v: %+v, error %v", time.Since(start), got, err)
		}
		time.Sleep(5 * time.Second)
	})
}
