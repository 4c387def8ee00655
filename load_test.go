package slidegate_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/dynamostore"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/redistest"
	"github.com/slidegate/slidegate/redisstore"
)

// TestLoad has 16 goroutines make 400 requests at once for one key, and admits
// exactly the 160 that its limit allows.
func TestLoad(t *testing.T) {
	for name, open := range map[string]func(*testing.T) slidegate.Store{
		"memory": func(*testing.T) slidegate.Store { return slidegate.NewMemory(0) },
		"dynamodb": func(t *testing.T) slidegate.Store {
			engine := dynamotest.Connect(t)
			return dynamostore.New(engine.Client, dynamotest.Counters(t, engine))
		},
		"redis": func(t *testing.T) slidegate.Store { return redisstore.New(redistest.Start(t).Client) },
	} {
		t.Run(name, func(t *testing.T) {
			lim, err := slidegate.New(slidegate.SlidingWindow(160, time.Hour), slidegate.WithName("load"), slidegate.WithStore(open(t)),
				slidegate.FailError(), slidegate.WithDeadline(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			var admitted atomic.Int64
			var callers sync.WaitGroup
			for range 16 {
				callers.Go(func() {
					for range 25 {
						if persistent(t, lim).Allowed {
							admitted.Add(1)
						}
					}
				})
			}
			callers.Wait()
			if got := admitted.Load(); got != 160 {
				t.Errorf("admitted %d, want 160", got)
			}
			if r := persistent(t, lim); r.Allowed || r.Remaining != 0 {
				t.Errorf("afterwards: %+v, want a denial", r)
			}
		})
	}
}

// persistent asks until the store decides: while many write one counter it may
// lose three writes in a row, and then has charged nothing.
func persistent(t *testing.T, lim *slidegate.Limiter) slidegate.Result {
	for {
		r, err := lim.Allow(t.Context(), "k")
		if err == nil {
			return r
		}
		if !errors.Is(err, slidegate.ErrUndecided) {
			t.Error(err)
			return r
		}
	}
}
