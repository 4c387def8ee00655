package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

// TestSleep: a sleep ends on time, or when its context ends.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := clock.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("a sleep of a minute took %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := clock.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("a sleep of a minute within a second took %v: %v", time.Since(start), err)
		}
		for _, d := range []time.Duration{0, -time.Second} {
			if err := clock.Sleep(ctx, d); err != nil {
				t.Errorf("Sleep(%v) after the end of its context: %v, want no error", d, err)
			}
		}
	})
}
