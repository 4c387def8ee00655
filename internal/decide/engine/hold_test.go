package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// reserve decides a request that reserves by this ID.
func (b *fixture) reserve(t *testing.T, id string) *engine.Decision {
	t.Helper()
	d, err := b.engine.Decide(context.Background(), epoch, &request.Request{Method: "GET", Path: "/", Reserve: &request.Reserve{ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// holding has a rule of each kind.
const holding = `
rules:
  - {name: plain, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: once, key: all, limits: [{capacity: 9, window: 60s}], refund_on: [503]}
  - {name: bucket, key: all, limits: [{capacity: 9, window: 60s, algorithm: token_bucket}]}
  - {name: free, key: all, cost: 0, limits: [{capacity: 9, window: 60s}]}
  - {name: lease, key: all, lease: 5, limits: [{capacity: 9, window: 60s}], refund_on: [503]}
  - {name: chat, key: all, limits: [{capacity: 900, window: 60s, cost: {from: header.x-tokens, min: 1, max: 300, settle: true}}]}
  - {name: places, key: all, limits: [{name: places, in_flight: 20, expires: 90s}, {name: rate, capacity: 9, window: 60s}]}
`

// TestOpenHold: which rules open a hold, for how long, and how many of them.
func TestOpenHold(t *testing.T) {
	place, reservation, named := limit.Opening{For: 90 * time.Second, Most: 20}, limit.Opening{For: 15 * time.Minute, Most: 100}, limit.Opening{For: time.Minute, Most: 100}
	set := parse(t, holding)
	for name, test := range map[string]struct {
		reserve *request.Reserve
		want    map[string]limit.Opening
	}{
		"by the process that decides": {nil, map[string]limit.Opening{"places": place}},
		"by receipt":                  {&request.Reserve{}, map[string]limit.Opening{"places": place, "once": reservation, "chat": reservation}},
		"by receipt, with an ID": {&request.Reserve{ID: "order 7"}, map[string]limit.Opening{
			"places": place, "once": reservation, "chat": reservation, "plain": named, "bucket": named,
		}},
	} {
		r, ids, got := engine.Resolver{Set: set, Now: epoch}, []uint64{}, map[string]limit.Opening{}
		for _, rule := range set.Rules {
			hold := r.Resolve(t.Context(), rule, &request.Request{Reserve: test.reserve}, "").Charge.Hold
			if hold.ID != 0 {
				ids = append(ids, hold.ID)
				hold.ID = 0
				got[rule.Name] = hold
			}
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(slices.Compact(ids)) != 1 {
			t.Errorf("%s: the holds have the IDs %d, want one", name, ids)
		}
		if hash := sha256.Sum256([]byte("order 7")); strings.HasSuffix(name, "ID") && ids[0] != binary.BigEndian.Uint64(hash[:]) {
			t.Errorf("%s: the ID is %d", name, ids[0])
		}
	}
}

// TestPendingHolds: a receipt settles what an outcome may correct and gives places
// back, once. What has no hold, because the counter has too many, it cannot.
func TestPendingHolds(t *testing.T) {
	b := newFixture(t, holding)
	d := b.reserve(t, "order 7")
	outcome := &engine.Outcome{Status: 503, Costs: map[string]int64{"chat": 100}}
	for _, again := range []error{nil, limit.ErrClosed} {
		var settled []string
		for _, p := range d.Pending() {
			if p.Receipt.Hold == 0 && p.Rule != "lease" {
				t.Errorf("%s has no hold", p.Rule)
			}
			want := again
			if p.Rule == "lease" {
				want = nil
			}
			if err := p.Settle(t.Context(), epoch, b.store, b.recorder, outcome); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", p.Rule, err, want)
			}
			settled = append(settled, p.Rule)
		}
		if want := []string{"once", "lease", "chat", "places"}; !slices.Equal(settled, want) {
			t.Errorf("settled %q, want %q", settled, want)
		}
	}
	if left := b.left(t, d, "chat"); left != 800 {
		t.Errorf("%d of 900 are left after a settlement at 100", left)
	}
	crowded := newFixture(t, "rules: [{name: once, key: all, limits: [{capacity: 999, window: 60s}], refund_on: [503]}]")
	for i := range 103 {
		if pending := len(crowded.reserve(t, "").Pending()); pending != min(1, max(0, 100-i)) {
			t.Errorf("reservation %d: %d charges to settle", i+1, pending)
		}
	}
}

// TestRepeatedDecision: a decision that is repeated by its ID charges once, and its
// receipt settles what the first one charged.
func TestRepeatedDecision(t *testing.T) {
	for _, kind := range []string{"", "atomic: true, "} {
		b := newFixture(t, `
rules:
  - {name: calls, `+kind+`key: all, limits: [{capacity: 2, window: 60s}]}
  - {name: chat, `+kind+`key: all, limits: [{capacity: 900, window: 60s, cost: {from: header.x-tokens, min: 1, max: 300, settle: true}}]}`)
		decide := func(id, tokens string) *engine.Decision {
			d, err := b.engine.Decide(t.Context(), epoch, &request.Request{
				Method: "GET", Path: "/", Headers: map[string][]string{"x-tokens": {tokens}}, Reserve: &request.Reserve{ID: id},
			})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := decide("order 7", "300")
		for range 3 {
			again := decide("order 7", "30")
			if !again.Allowed || b.left(t, again, "calls") != 1 || b.left(t, again, "chat") != 600 {
				t.Errorf("%sa repeated decision: %+v", kind, again)
			}
			if diff := gocmp.Diff(first.Pending(), again.Pending()); diff != "" {
				t.Errorf("%sto be settled (-first +again):\n%s", kind, diff)
			}
		}
		if d := decide("order 8", "1"); !d.Allowed {
			t.Errorf("%sanother decision: %+v", kind, d)
		}
		if d := decide("order 9", "1"); d.Allowed {
			t.Errorf("%sa third decision: %+v", kind, d)
		}
		if d := decide("order 7", "1"); !d.Allowed {
			t.Errorf("%sthe first decision, repeated on a full limit: %+v", kind, d)
		}
		p := first.Pending()[0]
		if err := p.Settle(t.Context(), epoch, b.store, b.recorder, &engine.Outcome{Costs: map[string]int64{"chat": 12}}); err != nil || b.left(t, first, "chat") != 887 {
			t.Errorf("%ssettled at 12: %d left of 900 after another of 1, error %v", kind, b.left(t, first, "chat"), err)
		}
	}
}

// TestRepeatedShadow: the receipt of a repeated decision settles what a shadow rule
// charged first.
func TestRepeatedShadow(t *testing.T) {
	b := newFixture(t, "rules: [{name: chat, mode: shadow, key: all, limits: [{capacity: 900, window: 60s, cost: {from: header.x-tokens, min: 1, max: 300, settle: true}}]}]")
	for _, tokens := range []string{"200", "30"} {
		d, err := b.engine.Decide(t.Context(), epoch, &request.Request{
			Method: "GET", Path: "/", Headers: map[string][]string{"x-tokens": {tokens}}, Reserve: &request.Reserve{ID: "order 7"},
		})
		if err != nil || len(d.Pending()) != 1 || d.Pending()[0].Charge.Costs[0] != 200 {
			t.Errorf("%s tokens: %+v, error %v", tokens, d.Pending(), err)
		}
	}
}

// TestRepeatedDenial: a repeated decision that is denied now returns nothing of what
// the first one charged: that may be at work.
func TestRepeatedDenial(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: first, key: all, limits: [{capacity: 9, window: 60s}], refund_on: [503]}
  - {name: second, key: all, limits: [{capacity: 9, window: 60s}]}`)
	d := b.reserve(t, "order 7")
	b.store.Hook = func(c *fakestore.Call) error {
		if c.Op == fakestore.Charge && slices.Contains(c.Rules(), "second") {
			return fakestore.Deny(time.Second)(c)
		}
		return nil
	}
	if again := b.reserve(t, "order 7"); again.Allowed || b.left(t, d, "first") != 8 {
		t.Errorf("%+v, %d of 9 are left", again, b.left(t, d, "first"))
	}
	if err := d.Pending()[0].Settle(t.Context(), epoch, b.store, b.recorder, &engine.Outcome{Status: 503}); err != nil || b.left(t, d, "first") != 9 {
		t.Errorf("the first decision: %d of 9 are left, error %v", b.left(t, d, "first"), err)
	}
}
