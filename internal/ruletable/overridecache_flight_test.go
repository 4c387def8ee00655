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
	"github.com/slidegate/slidegate/internal/ruletable"
)

// TestReadsOfDifferentOverrides: concurrent reads for different keys, or for
// different rules, do not share their answers.
func TestReadsOfDifferentOverrides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate := &shelf{}, make(chan struct{})
		cache, _ := newCache(api, ruletable.DefaultMaxOverrides)
		places := [][2]string{{"api", "k"}, {"api", "k2"}, {"chat", "k"}, {"plan", "k"}}
		for i, at := range places {
			api.put(strings.TrimPrefix(at[0]+"/"+at[1], "api/"), fmt.Sprintf(`{"capacity": %d}`, i+1))
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

// TestSlowTable: the request that starts a read waits for 100 ms, and all
// others not at all. A read that takes too long is reported.
func TestSlowTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate := &shelf{}, make(chan struct{})
		api.put("k", `{"capacity": 5}`)
		cache, reports := newCache(api, ruletable.DefaultMaxOverrides)
		expectOverride := func(want int64, took time.Duration) {
			t.Helper()
			start := time.Now()
			got, err := cache.Override(t.Context(), epoch.Add(time.Since(born)), "api", "k")
			if err != nil || !sameOverride(got, capacityOf(want)) || time.Since(start) != took {
				t.Errorf("%+v, error %v after %v; want %d after %v", got, err, time.Since(start), want, took)
			}
		}
		expectOverride(5, 0)
		time.Sleep(10 * time.Second)
		api.put("k", `{"capacity": 6}`)
		api.set(nil, gate)
		expectOverride(5, 100*time.Millisecond)
		expectOverride(5, 0)
		close(gate)
		time.Sleep(time.Millisecond)
		expectOverride(6, 0)

		time.Sleep(10 * time.Second)
		api.set(nil, make(chan struct{})) // for good
		expectOverride(6, 100*time.Millisecond)
		time.Sleep(5 * time.Second)
		if errs := reports.take(); len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) {
			t.Errorf("reported %v, want one ErrTimeout", errs)
		}
		expectOverride(6, 0) // no read for ten seconds
		if n := api.read("k"); n != 3 {
			t.Errorf("%d reads, want 3", n)
		}
	})
}

// born is the start of the clock of every bubble.
var born = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestGivingUpOnAnOverride: the error of a request that cannot wait says for
// which override it waited. The read goes on for the next request.
func TestGivingUpOnAnOverride(t *testing.T) {
	bubble(t, func(t *testing.T) {
		api, gate := &shelf{}, make(chan struct{})
		api.put("k", `{"capacity": 5}`)
		api.set(nil, gate)
		cache, _ := newCache(api, ruletable.DefaultMaxOverrides)
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		_, err := cache.Override(ctx, epoch, "api", "k")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `rule api for key "k"`) {
			t.Errorf("error %v", err)
		}
		close(gate)
		if got, err := cache.Override(t.Context(), epoch, "api", "k"); err != nil || !sameOverride(got, capacityOf(5)) || api.read("k") != 1 {
			t.Errorf("%+v, error %v, %d reads", got, err, api.read("k"))
		}
	})
}
