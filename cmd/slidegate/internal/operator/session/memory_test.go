package session

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestMaxKeys: a session in memory counts at most as many keys as it was told, and
// otherwise as many as the store's default.
func TestMaxKeys(t *testing.T) {
	rate := limit.Limit{Algorithm: limit.SlidingWindow, Capacity: 10, Window: time.Minute, Granularity: time.Second}
	for most, want := range map[int]bool{1000: true, 0: false} {
		s, full := Session{Locations: Locations{MaxKeys: most}}, false
		store := s.Counters()
		for i := range 2000 {
			var v limit.Verdict
			c := limit.Charge{Key: strconv.Itoa(i), Limits: []limit.Limit{rate}, Costs: []int64{1}}
			full = full || errors.Is(store.Charge(t.Context(), time.Unix(1e9, 0), &c, &v), memory.ErrFull)
		}
		if full != want {
			t.Errorf("MaxKeys %d: full after 2000 keys: %v, want %v", most, full, want)
		}
	}
}
