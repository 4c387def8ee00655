package clock

import (
	"context"
	"fmt"
	"time"
)

// Sleep waits for a duration by real time. It fails if the context ends first;
// for a duration of zero or less it returns at once, without error.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndsBefore reports whether a context ends within a duration of real time. Zero
// or less is no wait.
func EndsBefore(ctx context.Context, d time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && d > 0 && time.Until(end) < d
}

// AwaitTurn is Sleep that fails at once if the context would end before the wait
// does.
func AwaitTurn(ctx context.Context, d time.Duration) error {
	if EndsBefore(ctx, d) {
		return fmt.Errorf("the next turn is in %v: %w", d.Round(time.Millisecond), context.DeadlineExceeded)
	}
	return Sleep(ctx, d)
}
