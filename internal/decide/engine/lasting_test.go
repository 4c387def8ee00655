package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestWorkThatGoesOnIsRenewed: the store is away from 40 s to 91 s. By on_error the
// work goes on, and its places are there until 93 s; yet nobody renews them again.
func TestWorkThatGoesOnIsRenewed(t *testing.T) {
	for _, onError := range []string{"local", "allow"} {
		synctest.Test(t, func(t *testing.T) {
			b, begun := newFixture(t, "rules: [{name: work, key: all, on_error: "+onError+", "+places+"}]"), time.Now()
			b.store.Hook = func(c *fakestore.Call) error {
				if at := time.Since(begun); c.Op == fakestore.Renew && at >= 40*time.Second && at < 91*time.Second {
					return errDown
				}
				return nil
			}
			for range 2 {
				d := b.now(t)
				work, _ := b.engine.Occupy(t.Context(), time.Now, d)
				defer b.engine.Finish(t.Context(), time.Now(), d, &engine.Outcome{})
				defer func() {
					if work.Err() != nil {
						t.Error("the work has ended")
					}
				}()
			}
			time.Sleep(10 * time.Minute)
			if d := b.now(t); d.Allowed {
				t.Errorf("on_error: %s: nine minutes after the outage, a third request is at work in two places", onError)
			}
		})
	}
}
