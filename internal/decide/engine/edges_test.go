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

// TestAtomicRefused: if the store refuses atomic rules, they are not charged
// apart: on_error decides for each.
func TestAtomicRefused(t *testing.T) {
	b, g := newBatcherFixture(t, `rules:
  - {name: one, key: all, atomic: true, on_error: allow, limits: [{capacity: 9, window: 60s}]}
  - {name: two, key: all, atomic: true, on_error: allow, limits: [{capacity: 9, window: 60s}]}`)
	g.apart, g.Hook = true, fakestore.Fail(limit.ErrGroup)
	if d := b.decide(t, "/"); !d.Allowed || !d.Degraded || b.store.Count(fakestore.Charge) != 1 {
		t.Errorf("%+v after %d charges, want one", d, b.store.Count(fakestore.Charge))
	}
}

// TestBannedShadow: a shadow rule whose override denies is not charged.
func TestBannedShadow(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: real, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: strict, mode: shadow, key: "stage:{stage}", limits: [{capacity: 9, window: 60s}]}
overrides: {strict: {"stage:prod": {deny: true}}}`)
	if d := b.decide(t, "/"); !d.Allowed || len(d.Shadows) != 1 || d.Shadows[0].Allowed || b.store.Count(fakestore.Charge) != 1 {
		t.Errorf("%+v after %d charges", d, b.store.Count(fakestore.Charge))
	}
}

// TestCandidateOfZeroCost: a request that costs nothing passes any capacity.
func TestCandidateOfZeroCost(t *testing.T) {
	b := newFixture(t, `rules: [{name: r, key: all, limits: [
		{name: requests, capacity: 9, window: 60s, candidate: 8},
		{name: tokens, capacity: 9, window: 60s, candidate: 2, cost: {from: jwt.n, min: 0, max: 9}}]}]`)
	for i, want := range []engine.CandidateOutcome{engine.WouldDeny, engine.Same} {
		req := &request.Request{Claims: map[string]any{"n": float64(3 - 3*i)}}
		if d, err := b.engine.Decide(t.Context(), epoch, req); err != nil || d.Verdicts[0].CandidateOutcome(1) != want {
			t.Errorf("request %d: %+v, error %v", i, d, err)
		}
	}
}

// TestTightestBucket: the share left of a bucket is that of its burst. A bucket
// with 1,999 of 2,000 left is less used than a window with 990 of 1,000, though
// it refills at only 10 a minute.
func TestTightestBucket(t *testing.T) {
	const (
		window = `{name: window, key: all, cost: 10, limits: [{capacity: 1000, window: 60s}]}`
		full   = `{name: full, key: all, limits: [{algorithm: token_bucket, capacity: 10, window: 60s, burst: 2000}]}`
		half   = `{name: half, key: all, cost: 1000, limits: [{algorithm: token_bucket, capacity: 10, window: 60s, burst: 2000}]}`
	)
	for rules, want := range map[string]string{
		window + ", " + full: "window", full + ", " + window: "window",
		window + ", " + half: "half", half + ", " + window: "half",
	} {
		d := newFixture(t, "rules: ["+rules+"]").decide(t, "/")
		if v, i := d.Tightest(); v == nil || v.PolicyName(i) != want {
			t.Errorf("got %v %d, want %s", v, i, want)
		}
	}
}

// TestTightestOfLargest: of two limits of the largest capacity, the one with less
// left is the tighter, also where a product of 64 bits would wrap around.
func TestTightestOfLargest(t *testing.T) {
	d := newFixture(t, `rules: [{name: r, key: all, limits: [{name: a, capacity: 999999999999999, window: 60s, cost: 499999999999999},
		{name: b, capacity: 999999999999999, window: 60s, cost: 699999999999999}]}]`).decide(t, "/")
	if _, i := d.Tightest(); i != 1 {
		t.Errorf("limit %d of %+v", i, d.Verdicts[0].Limits)
	}
}

// TestTightestInOrder chooses among results of two limits of 10 and 1,000 units.
// The first limit stays if the second is not tighter.
func TestTightestInOrder(t *testing.T) {
	d := newFixture(t, `rules: [{name: r, key: all, limits: [{name: a, capacity: 10, window: 60s}, {name: b, capacity: 1000, window: 60s}]}]`).decide(t, "/")
	left := func(n int64) limit.Result { return limit.Result{Allowed: true, Remaining: n} }
	denial := func(n int64, wait time.Duration) limit.Result { return limit.Result{Remaining: n, RetryAfter: wait} }
	for name, test := range map[string]struct {
		a, b limit.Result
		want int
	}{
		"as much of each left":        {left(5), left(500), 0},
		"less of the second":          {left(5), left(499), 1},
		"a denial with more left":     {denial(9, time.Second), left(0), 0},
		"a later denial with more":    {left(0), denial(900, time.Second), 1},
		"two that never allow it":     {denial(0, limit.Never), denial(0, limit.Never), 0},
		"a wait, and one without end": {denial(0, time.Second), denial(0, limit.Never), 1},
		"one without end, and a wait": {denial(0, limit.Never), denial(0, time.Second), 0},
		"a longer wait of the second": {denial(0, time.Second), denial(0, time.Minute), 1},
	} {
		d.Verdicts[0].Limits = []limit.Result{test.a, test.b}
		if _, i := d.Tightest(); i != test.want {
			t.Errorf("%s: limit %d, want %d", name, i, test.want)
		}
	}
}

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
