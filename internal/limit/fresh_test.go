package limit_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestFresh: the bound is ten seconds to either side, as docs/redis.md and
// docs/accuracy.md promise.
func TestFresh(t *testing.T) {
	taken := time.Unix(1_700_000_000, 0)
	for age, want := range map[time.Duration]bool{
		0: true, 10 * time.Second: true, 10*time.Second + 1: false, -10 * time.Second: true, -10*time.Second - 1: false,
	} {
		if got := limit.Fresh(taken, taken.Add(age)); got != want {
			t.Errorf("after %v: %v, want %v", age, got, want)
		}
	}
}
