package memory

import (
	"errors"
	"fmt"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestFallback: keys that the other store has not admitted fill half of each
// shard, and at least one place. The rest is for those that it has.
func TestFallback(t *testing.T) {
	for perShard, strangers := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 10: 5} {
		f := NewFallback(perShard * shardCount)
		fill := func(format string, note bool) (admitted int) {
			for i := range 100 * shardCount {
				c := &limit.Charge{Key: fmt.Sprintf(format, i), Limits: []limit.Limit{minute}, Costs: []int64{1}}
				if note {
					f.Note(c.Key)
				}
				var v limit.Verdict
				err := f.Charge(t.Context(), epoch, c, &v)
				if err == nil && v.Allowed {
					admitted++
				} else if !errors.Is(err, ErrFull) {
					t.Fatalf("%s: %+v, error %v", c.Key, v, err)
				}
			}
			return admitted
		}
		if got := fill("stranger-%d", false); got != strangers*shardCount {
			t.Errorf("room for %d strangers in each of %d shards for %d keys; want %d", got/shardCount, shardCount, perShard, strangers)
		}
		if got := fill("known-%d", true); got != (perShard-strangers)*shardCount {
			t.Errorf("room for %d known keys in shards for %d, of which strangers fill %d", got/shardCount, perShard, strangers)
		}
	}
}
