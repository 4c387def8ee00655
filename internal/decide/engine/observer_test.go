package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestStoreCalls: the observer sees each call of the shared store, and whether
// the call fails. A denial by a snapshot makes none.
func TestStoreCalls(t *testing.T) {
	for name, test := range map[string]struct {
		kind, onError, down string
		noSnapshot          bool
		want                []string // of two requests, the second of which is denied
	}{
		"two rules":             {"", "deny", "", true, []string{"charge", "charge", "settle", "charge", "charge", "refund"}},
		"a snapshot":            {"", "deny", "", false, []string{"charge", "charge", "settle"}},
		"an atomic pair":        {"atomic: true, ", "deny", "", true, []string{"charge all", "settle", "charge all"}},
		"failures":              {"", "deny", "narrow", true, []string{"charge", "charge failed", "refund", "charge", "charge failed", "refund"}},
		"counts that are local": {"", "local", "narrow", true, []string{"charge", "charge failed", "charge", "charge failed", "refund"}},
	} {
		b := newFixture(t, fmt.Sprintf(`rules:
  - {name: wide, %[1]skey: all, limits: [{capacity: 9, window: 60s}]}
  - {name: narrow, %[1]skey: all, on_error: %[2]s, limits: [{name: tokens, capacity: 1, window: 60s, cost: {from: header.x-n, min: 1, max: 1, settle: true}}]}
`, test.kind, test.onError))
		b.store.NoSnapshot = test.noSnapshot
		if test.down != "" {
			b.store.Hook = fakestore.Down(errDown, test.down)
		}
		for range 2 {
			if d := b.decide(t, "/"); d.Allowed {
				b.engine.Finish(t.Context(), epoch, d, &engine.Outcome{Costs: map[string]int64{"narrow.tokens": 2}})
			}
		}
		if !slices.Equal(b.recorder.calls, test.want) {
			t.Errorf("%s: calls %q, want %q", name, b.recorder.calls, test.want)
		}
	}
}

// denying is a store that denies each charge by a snapshot, as Redis may.
type denying struct{ limit.Store }

func (denying) Charge(_ context.Context, _ time.Time, _ *limit.Charge, v *limit.Verdict) error {
	v.Resize(1)
	v.Snapshot, v.Allowed = true, false
	return nil
}

// TestChargeBySnapshot: the observer learns that a charge sent nothing.
func TestChargeBySnapshot(t *testing.T) {
	seen := &recorder{}
	e := engine.New(engine.Options{
		Rules: engine.Fixed{Set: parse(t, `rules: [{name: api, key: all, limits: [{capacity: 9, window: 60s}]}]`)}, Store: denying{memory.New(0)}, Observer: seen,
	})
	d, err := e.Decide(t.Context(), epoch, &request.Request{Method: "GET", Path: "/"})
	if err != nil || d.Allowed || !slices.Equal(seen.calls, []string{"charge failed"}) {
		t.Errorf("%+v, error %v, calls %q", d, err, seen.calls)
	}
}
