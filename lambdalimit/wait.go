package lambdalimit

import (
	"context"
	"time"
)

// inTime reports whether a turn comes before the function's deadline.
func inTime(ctx context.Context, delay time.Duration) bool {
	end, ends := ctx.Deadline()
	return delay == 0 || !ends || time.Until(end) > delay
}

// wait waits for a turn.
func wait(ctx context.Context, delay time.Duration) error {
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
