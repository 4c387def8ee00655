package memory

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestTable compares a table with a map. Few hashes make many keys share a home,
// so that removed ones leave gaps in long runs.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.Uint32Range(0, 20)
		var got table
		want := map[string]*counter{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "key"))
			if ct := want[key]; ct != nil {
				got.remove(ct)
				delete(want, key)
			} else {
				ct = &counter{key: key, hash: hashes.Draw(t, "hash")}
				got.add(ct)
				want[key] = ct
			}
			if got.n != len(want) {
				t.Fatalf("%d counters, want %d", got.n, len(want))
			}
			for _, ct := range want {
				if found := got.find(ct.hash, ct.key); found != ct {
					t.Fatalf("key %s with hash %d is not found", ct.key, ct.hash)
				}
			}
			if ct := got.find(hashes.Draw(t, "another hash"), "another"); ct != nil {
				t.Fatalf("finds %s for another key", ct.key)
			}
		}
	})
}

// TestQueue compares a queue with a search of all counters. Their ends only
// count when their time has come, so they may grow in between.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		waiting, charged, now := map[*counter]bool{}, map[*counter]bool{}, rapid.Int64Range(-1e18, 1e18).Draw(t, "start")
		later := rapid.Int64Range(0, 1<<rapid.IntRange(1, 60).Draw(t, "bits"))
		q.advance(now, nil)
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			all := slices.SortedFunc(maps.Keys(waiting), func(a, b *counter) int { return int(a.serial) - int(b.serial) })
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case step == 0:
				ct := &counter{serial: uint32(len(waiting)), end: now + 1 + later.Draw(t, "end")}
				q.push(ct)
				waiting[ct] = true
			case step == 1 && len(all) > 0:
				ct := rapid.SampledFrom(all).Draw(t, "charged")
				ct.end += later.Draw(t, "longer")
				charged[ct] = true
			case step == 2 && len(all) > 0:
				ct := rapid.SampledFrom(all).Draw(t, "removed")
				q.remove(ct)
				delete(waiting, ct)
			case step == 3:
				now += later.Draw(t, "time")
				dropped := map[*counter]bool{}
				q.advance(now, func(ct *counter) { dropped[ct] = true })
				q.advance(now-rapid.Int64Range(1, 1000).Draw(t, "back"), nil) // time does not go back
				for ct := range waiting {
					if dropped[ct] != (ct.end <= now) {
						t.Fatalf("a counter that ends at %d was dropped: %v, at %d", ct.end, dropped[ct], now)
					}
				}
				for ct := range dropped {
					if !waiting[ct] {
						t.Fatalf("a counter that was removed was dropped at %d", now)
					}
				}
				maps.DeleteFunc(waiting, func(ct *counter, _ bool) bool { return dropped[ct] })
			}
			listed := 0
			for list, ct := range q.lists { // so that few are looked at too early
				for ; ct != nil; ct = ct.next {
					if want := bits.Len64(uint64(now ^ ct.end)); !charged[ct] && list != want {
						t.Fatalf("at %d a counter that ends at %d is in list %d, want %d", now, ct.end, list, want)
					}
					listed++
				}
			}
			if listed != len(waiting) {
				t.Fatalf("%d counters are in lists, want %d", listed, len(waiting))
			}
		}
	})
}

// TestLayout checks that a charge finds what it needs of its shard in one line of
// a cache, and that a counter has the size that its doc states.
func TestLayout(t *testing.T) {
	const line = 64
	var s Store
	var sh shard
	if first, size := unsafe.Offsetof(s.shards), unsafe.Sizeof(sh); first%line != 0 || size%line != 0 {
		t.Errorf("shards of %d bytes, from byte %d on, do not begin with a line", size, first)
	}
	if end := unsafe.Offsetof(sh.bound) + unsafe.Sizeof(sh.bound); end > line {
		t.Errorf("what a charge needs of a shard ends at byte %d", end)
	}
	if size := unsafe.Sizeof(counter{}); size > 96 {
		t.Errorf("a counter takes %d bytes", size)
	}
}

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
