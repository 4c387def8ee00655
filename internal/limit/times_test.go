package limit_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestTimesFarApart: a limit that was used up at any time that callers may
// state denies a caller whose clock is behind, however far, and is unused long after.
func TestTimesFarApart(t *testing.T) {
	first, last := time.Date(1930, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, -1, time.UTC)
	for _, at := range []time.Time{first, last} {
		if !limit.InRange(at) || limit.InRange(first.Add(-1)) || limit.InRange(last.Add(1)) {
			t.Fatalf("the range does not begin or end at %v", at)
		}
	}
	long := []limit.Limit{
		sliding(5, limit.MaxWindow, limit.MaxWindow/600), sliding(5, limit.MaxWindow, limit.MaxWindow), fixed(5, limit.MaxWindow),
		weighted(5, limit.MaxWindow), exact(5, limit.MaxWindow), token(1, limit.MaxDrain/2, 2), leaky(1, limit.MaxDrain/2, 2),
	}
	for _, l := range append(everyAlgorithm(), long...) {
		var early, late limit.State
		late.Take(&l, last, l.MaxCost())
		if got := late.Decide(&l, first, 1); got.Allowed || got.RetryAfter <= 0 || got.Reset <= 0 {
			t.Errorf("%s of %v: a caller far behind gets %+v", l.Algorithm, l.Window, got)
		}
		early.Take(&l, first, l.MaxCost())
		if got, want := early.Decide(&l, last, 1), (limit.Result{Allowed: true, Remaining: l.MaxCost()}); got != want {
			t.Errorf("%s of %v: long after, a caller gets %+v", l.Algorithm, l.Window, got)
		}
	}
}
