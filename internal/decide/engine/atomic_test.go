package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// left returns the units that a rule has left, without charging it.
func (b *fixture) left(t *testing.T, d *engine.Decision, rule string) int64 {
	t.Helper()
	i := slices.IndexFunc(d.Verdicts, func(v engine.Verdict) bool { return v.Rule.Name == rule })
	if i < 0 {
		t.Fatalf("no verdict of rule %s", rule)
	}
	v := &d.Verdicts[i]
	var now limit.Verdict
	if err := b.store.Peek(t.Context(), epoch, &limit.Charge{Key: v.Rule.Item(v.Key, v.Terms), Limits: v.Terms.Limits, Costs: v.Terms.Costs}, &now); err != nil {
		t.Fatal(err)
	}
	return now.Remaining
}

func names(d *engine.Decision) string {
	var all []string
	for _, v := range d.Verdicts {
		all = append(all, v.Rule.Name)
	}
	return strings.Join(all, " ")
}

const atomicRules = `rules:
  - {name: first, key: all, limits: [{capacity: 100, window: 60s}]}
  - {name: bucket, key: all, atomic: true, limits: [{algorithm: token_bucket, capacity: 100, window: 60s}]}
  - {name: between, key: all, limits: [{capacity: 100, window: 60s}]}
  - {name: small, key: all, atomic: true, limits: [{capacity: 2, window: 60s}]}
  - {name: smaller, when: {path: /both}, key: all, atomic: true, limits: [{capacity: 2, window: 120s}]}
`

// TestAtomic: the atomic rules of a request are charged together, when the first
// of them is due, or none of them is. A bucket loses no units if another rule
// denies.
func TestAtomic(t *testing.T) {
	b := newFixture(t, atomicRules)
	b.store.NoSnapshot = true
	first := b.decide(t, "/")
	if !first.Allowed || names(first) != "first bucket between small" || !slices.Equal(groups(b.store), []int{2}) || b.store.Count(fakestore.Charge) != 3 {
		t.Fatalf("rules %s, together %v, %d charges", names(first), groups(b.store), b.store.Count(fakestore.Charge))
	}
	if d := b.decide(t, "/both"); !d.Allowed || !slices.Equal(groups(b.store), []int{2, 3}) {
		t.Fatalf("rules %s, together %v", names(d), groups(b.store))
	}
	charges := b.store.Count(fakestore.Charge)
	d := b.decide(t, "/")
	if d.Allowed || names(d) != "small" || d.Verdicts[0].RetryAfter != 61*time.Second || b.store.Count(fakestore.Charge) != charges+2 {
		t.Errorf("denied by %s after %d charges, want small after first and the group", names(d), b.store.Count(fakestore.Charge)-charges)
	}
	for rule, want := range map[string]int64{"first": 98, "bucket": 98, "between": 98, "small": 0} {
		if got := b.left(t, first, rule); got != want {
			t.Errorf("%s has %d left, want %d", rule, got, want)
		}
	}
}

// TestAtomicDenials: if several rules of a group deny, the decision names the one
// with the longest wait. After that wait, no other of them denies.
func TestAtomicDenials(t *testing.T) {
	b := newFixture(t, atomicRules)
	for range 2 {
		b.decide(t, "/both")
	}
	b.store.NoSnapshot = true
	if d := b.decide(t, "/both"); d.Allowed || names(d) != "smaller" || d.Verdicts[0].RetryAfter <= 61*time.Second {
		t.Errorf("got %+v", d)
	}
}

// TestAtomicMany: a group has at most limit.MaxLimits rules, and the next group
// has the others.
func TestAtomicMany(t *testing.T) {
	document := "rules:\n"
	for _, name := range strings.Split("abcdefghij", "") {
		document += "  - {name: " + name + ", key: all, atomic: true, limits: [{capacity: 9, window: 60s}]}\n"
	}
	b := newFixture(t, document)
	if d := b.decide(t, "/"); !d.Allowed || d.Degraded || !slices.Equal(groups(b.store), []int{8, 2}) {
		t.Errorf("got %+v, together %v", d, groups(b.store))
	}
}

// TestAtomicOutage: if a group cannot be charged, the on_error of each rule
// decides for it. A denial refunds earlier rules, in the local store too.
func TestAtomicOutage(t *testing.T) {
	for name, test := range map[string]struct {
		policy   string
		allowed  bool
		verdicts string
	}{
		"allowed by all": {"allow", true, "first local open last"},
		"denied by one":  {"deny", false, "last"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, `rules:
  - {name: first, key: all, limits: [{capacity: 40, window: 60s}]}
  - {name: local, key: all, atomic: true, limits: [{capacity: 40, window: 60s}]}
  - {name: open, key: all, atomic: true, on_error: allow, limits: [{capacity: 40, window: 60s}]}
  - {name: last, key: all, atomic: true, on_error: `+test.policy+`, limits: [{capacity: 40, window: 60s}]}
`)
			healthy := b.decide(t, "/")
			b.store.Hook, b.store.NoSnapshot = fakestore.Down(errDown, "last"), true
			d := b.decide(t, "/")
			if d.Allowed != test.allowed || !d.Degraded || names(d) != test.verdicts {
				t.Fatalf("allowed %t, degraded %t, rules %s", d.Allowed, d.Degraded, names(d))
			}
			if len(b.recorder.failures) != 3 {
				t.Errorf("recorded %v, want a failure for each rule", b.recorder.failures)
			}
			if got, want := b.left(t, healthy, "first"), map[bool]int64{true: 38, false: 39}[test.allowed]; got != want {
				t.Errorf("first has %d left, want %d", got, want)
			}
			rule := healthy.Verdicts[1].Rule
			share := rule.Limits[0]
			share.Capacity = 2
			var local limit.Verdict
			if err := b.local.Peek(t.Context(), epoch, &limit.Charge{Key: itemOf(rule), Limits: []limit.Limit{share}, Costs: []int64{0}}, &local); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int64{true: 1, false: 2}[test.allowed]; local.Remaining != want {
				t.Errorf("the local store has %d left, want %d", local.Remaining, want)
			}
		})
	}
}
