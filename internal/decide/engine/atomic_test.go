package engine_test

import (
	"errors"
	"fmt"
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

// TestWhichDenial: if several rules of a group deny, the decision names the one
// with the longest wait, after which no other of them denies. Of equal waits the
// first in file order counts, as if rules were charged one after the other.
func TestWhichDenial(t *testing.T) {
	for want, rules := range map[string]string{
		"smaller": "{name: small, key: all, atomic: true, limits: [2 per 60s]}, {name: smaller, key: all, atomic: true, limits: [2 per 120s]}",
		"long":    "{name: long, key: all, atomic: true, limits: [2 per 120s]}, {name: short, key: all, atomic: true, limits: [2 per 60s]}",
		"wide":    "{name: wide, key: all, limits: [2 per 60s]}, {name: narrow, key: all, limits: [2 per 60s, 100 per 3600s]}",
	} {
		b, _ := newBatcherFixture(t, "rules: ["+rules+"]")
		b.decide(t, "/")
		b.decide(t, "/")
		if d := b.decide(t, "/"); d.Allowed || names(d) != want {
			t.Errorf("allowed %t, rules %s, want %s alone", d.Allowed, names(d), want)
		}
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

// batcher is a store that charges all rules of a request in one call.
type batcher struct {
	*fakestore.Store
	apart bool // Batches is false
}

func (g *batcher) Batches() bool { return !g.apart }

func newBatcherFixture(t *testing.T, document string) (*fixture, *batcher) {
	t.Helper()
	b := newFixture(t, document)
	b.store.NoSnapshot = true
	g := &batcher{Store: b.store}
	b.engine = engine.New(engine.Options{Rules: engine.Fixed{Set: parse(t, document)}, Store: g, Local: b.local, Observer: b.recorder})
	return b, g
}

// groups returns how many rules each call charged that charged several.
func groups(s *fakestore.Store) (sizes []int) {
	for _, c := range s.Calls(fakestore.Charge) {
		if len(c.Keys) > 1 {
			sizes = append(sizes, len(c.Keys))
		}
	}
	return sizes
}

const groupedRules = `rules:
  - {name: everyone, key: all, limits: [{algorithm: token_bucket, capacity: 100, window: 60s}]}
  - {name: log, key: all, on_error: allow, limits: [{algorithm: sliding_window_log, capacity: 100, window: 60s}]}
  - {name: small, key: all, limits: [{capacity: 2, window: 60s}]}
`

// TestTogether: all rules of a request are charged in one call. A denial charges
// none of them, so a flood that a later rule denies takes nothing from the
// budgets that others share.
func TestTogether(t *testing.T) {
	b, _ := newBatcherFixture(t, groupedRules)
	b.flood(t, 52)
	if len(groups(b.store)) != 52 || slices.Max(groups(b.store)) != 3 || slices.Min(groups(b.store)) != 3 {
		t.Errorf("together %v", groups(b.store))
	}
}

// flood sends requests of which rule small denies all but two. They take nothing
// from the other rules of groupedRules.
func (b *fixture) flood(t *testing.T, calls int) {
	t.Helper()
	first := b.decide(t, "/")
	if !first.Allowed || names(first) != "everyone log small" {
		t.Fatalf("allowed %t, rules %s", first.Allowed, names(first))
	}
	b.decide(t, "/")
	for range 50 {
		if d := b.decide(t, "/"); d.Allowed || names(d) != "small" {
			t.Fatalf("got %+v", d)
		}
	}
	for rule, want := range map[string]int64{"everyone": 98, "log": 98, "small": 0} {
		if got := b.left(t, first, rule); got != want {
			t.Errorf("%s has %d left, want %d", rule, got, want)
		}
	}
	if b.store.Count(fakestore.Charge) != calls {
		t.Errorf("%d calls for 52 requests, want %d", b.store.Count(fakestore.Charge), calls)
	}
}

// TestTogetherRefused: if the store refuses rules because they are together, each
// is charged alone, and on_error decides for none but those that fail alone.
func TestTogetherRefused(t *testing.T) {
	b, g := newBatcherFixture(t, groupedRules)
	healthy := b.decide(t, "/")
	g.Hook = func(c *fakestore.Call) error {
		if c.Op == fakestore.Charge && len(c.Keys) > 1 {
			return errors.Join(errors.New("counter of log is malformed"), limit.ErrGroup)
		}
		return fakestore.Down(errDown, "log")(c)
	}
	d := b.decide(t, "/")
	if !d.Allowed || !d.Degraded || names(d) != "everyone log small" || len(b.recorder.failures) != 1 || b.recorder.failures[0].rule != "log" {
		t.Fatalf("allowed %t, degraded %t, rules %s, failures %v", d.Allowed, d.Degraded, names(d), b.recorder.failures)
	}
	for rule, want := range map[string]int64{"everyone": 98, "log": 99, "small": 0} {
		if got := b.left(t, healthy, rule); got != want {
			t.Errorf("%s has %d left, want %d", rule, got, want)
		}
	}
	if b.store.Count(fakestore.Charge) != 1+4 {
		t.Errorf("%d calls, want one that is refused and one for each rule", b.store.Count(fakestore.Charge)-1)
	}
}

// TestTogetherShared: rules that share a counter are charged one after the other,
// because each takes its units.
func TestTogetherShared(t *testing.T) {
	b, _ := newBatcherFixture(t, `rules:
  - {name: one, counter: both, key: all, limits: [{capacity: 5, window: 60s}]}
  - {name: two, counter: both, key: all, limits: [{capacity: 5, window: 60s}]}
`)
	for i, want := range []bool{true, true, false} {
		if d := b.decide(t, "/"); d.Allowed != want || d.Degraded || len(b.recorder.failures) > 0 {
			t.Errorf("request %d: allowed %t, degraded %t, failures %v", i, d.Allowed, d.Degraded, b.recorder.failures)
		}
	}
}

// TestTogetherDown: if the store fails, or refuses a rule that is alone, on_error
// decides for each rule, and nothing is charged twice.
func TestTogetherDown(t *testing.T) {
	for document, failures := range map[string]int{groupedRules: 3, "rules: [{name: log, key: all, limits: [{capacity: 9, window: 60s}]}]": 1} {
		b, g := newBatcherFixture(t, document)
		g.Hook = fakestore.Fail(errDown)
		if failures == 1 {
			g.Hook = fakestore.Fail(errors.Join(errDown, limit.ErrGroup))
		}
		if d := b.decide(t, "/"); !d.Degraded || b.store.Count(fakestore.Charge) != 1 || len(b.recorder.failures) != failures {
			t.Errorf("degraded %t after %d calls, failures %v", d.Degraded, b.store.Count(fakestore.Charge), b.recorder.failures)
		}
	}
}

// TestNotTogether: more rules than a store takes at once, and a store that says
// no, are charged as without AtomicBatcher.
func TestNotTogether(t *testing.T) {
	for many, charges := range map[int]int{limit.MaxLimits: 1, limit.MaxLimits + 1: limit.MaxLimits + 1} {
		document := "rules:\n"
		for i := range many {
			document += fmt.Sprintf("  - {name: r%d, key: all, limits: [{capacity: 9, window: 60s}]}\n", i)
		}
		b, _ := newBatcherFixture(t, document)
		if d := b.decide(t, "/"); !d.Allowed || b.store.Count(fakestore.Charge) != charges {
			t.Errorf("%d rules: %d charges, together %v", many, b.store.Count(fakestore.Charge), groups(b.store))
		}
	}
	b, g := newBatcherFixture(t, groupedRules)
	g.apart = true
	if d := b.decide(t, "/"); !d.Allowed || len(groups(b.store)) != 0 || b.store.Count(fakestore.Charge) != 3 {
		t.Errorf("a store that takes no groups: %d charges, together %v", b.store.Count(fakestore.Charge), groups(b.store))
	}
}

// TestLowestRateFirst: a store that takes no groups is asked for the rule of the
// lowest rate first, so a flood that it denies takes nothing from the others
// here too. The answer names the rules in file order all the same.
func TestLowestRateFirst(t *testing.T) {
	b, g := newBatcherFixture(t, groupedRules)
	g.apart = true
	b.flood(t, 2*3+50)
}

// TestChargingOrder: of several limits of a rule, the lowest rate counts. Equal
// rates keep file order.
func TestChargingOrder(t *testing.T) {
	for _, c := range []struct{ name, rules, want string }{
		{"rates", `
  - {name: wide, key: all, limits: [{capacity: 60, window: 1s}]}
  - {name: narrow, key: all, limits: [{capacity: 100, window: 60s}]}`, "narrow wide"},
		{"several limits", `
  - {name: wide, key: all, limits: [{capacity: 2, window: 60s}]}
  - {name: narrow, key: all, limits: [{name: s, capacity: 5, window: 1s}, {name: h, capacity: 60, window: 3600s}]}`, "narrow wide"},
		{"costs", `
  - {name: requests, key: all, limits: [{capacity: 100, window: 60s}]}
  - {name: bytes, key: all, cost: 500, limits: [{capacity: 1000, window: 60s}, {name: free, capacity: 1, window: 60s, cost: 0}]}
  - {name: free, key: all, cost: 0, limits: [{capacity: 1, window: 60s}]}`, "bytes requests free"},
		{"equal rates", `
  - {name: one, key: all, limits: [{capacity: 1, window: 60s}]}
  - {name: two, key: all, limits: [{capacity: 60, window: 3600s}]}`, "one two"},
	} {
		b, g := newBatcherFixture(t, "rules:"+c.rules)
		g.apart = true
		b.decide(t, "/")
		var charged []string
		for _, call := range g.Calls(fakestore.Charge) {
			charged = append(charged, call.Rules()...)
		}
		if got := strings.Join(charged, " "); got != c.want {
			t.Errorf("%s: charged %s, want %s", c.name, got, c.want)
		}
	}
}
