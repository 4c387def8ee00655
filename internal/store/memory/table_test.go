package memory

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
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
