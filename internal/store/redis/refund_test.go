package redis_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// TestRefundAgain uses a receipt several times: it takes units of other charges
// from the slot, and never more than the slot holds.
func TestRefundAgain(t *testing.T) {
	store := open(t, servers.StartRedis(t))
	for _, l := range []limit.Limit{storetest.Sliding(10, time.Minute, sec), storetest.Weighted(10, time.Minute), storetest.Fixed(10, time.Minute)} {
		for after, want := range map[time.Duration]int64{0: 10, l.Granularity: 7} {
			limits, key := []limit.Limit{l}, fresh()
			c := request(key, limits, 4)
			first := charge(t, store, epoch, c)
			now := epoch.Add(after)
			charge(t, store, now, request(key, limits, 3))
			for range 3 {
				if err := store.Settle(t.Context(), now, c, &first.Receipt, []int64{-3}); err != nil {
					t.Fatal(err)
				}
			}
			if v := charge(t, store, now, request(key, limits, 11)); v.Remaining != want {
				t.Errorf("%s, with another charge %v later: %d left, want %d", l.Algorithm, after, v.Remaining, want)
			}
		}
	}
}
