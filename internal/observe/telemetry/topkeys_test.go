package telemetry

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSketch: whatever is added, no count is too low, none is higher than the
// truth by more than its error, and no error is above a hundredth of all
// counts. So a key with more than that is always there.
func TestSketch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sketch
		truth, all := map[ruleKey]int64{}, int64(0)
		keys := rapid.IntRange(1, 4*slots).Draw(t, "keys")
		for _, key := range rapid.SliceOfN(rapid.IntRange(0, keys), 0, 2000).Draw(t, "added") {
			k, n := ruleKey{"rule", string(rune(key))}, int64(key%7+1)
			s.add(k, n, 0)
			truth[k], all = truth[k]+n, all+n
		}
		if len(s.keys) > slots || len(s.keys) != len(s.index) {
			t.Fatalf("%d keys, %d in the index", len(s.keys), len(s.index))
		}
		for _, k := range s.all() {
			n := truth[ruleKey{k.Rule, k.Key}]
			if k.Count < n || k.Count-k.Error > n || k.Error > all/slots {
				t.Fatalf("key %q counts %d with an error of %d, and the truth is %d of %d", k.Key, k.Count, k.Error, n, all)
			}
			delete(truth, ruleKey{k.Rule, k.Key})
		}
		for k, n := range truth {
			if n > all/slots {
				t.Fatalf("key %q is missing with %d of %d", k.key, n, all)
			}
		}
	})
}

// TestLateRequest: a request of the minute before, which another has overtaken,
// drops no key.
func TestLateRequest(t *testing.T) {
	var keys topKeys
	minute := time.Unix(1_700_000_040, 0).Truncate(time.Minute)
	keys.add(minute, ruleKey{"api", "a"}, 1, 0)
	keys.add(minute.Add(-time.Second), ruleKey{"api", "b"}, 1, 0)
	if top := keys.top(minute, byCount); len(top) != 2 {
		t.Errorf("the keys are %v, want a and b", top)
	}
}
