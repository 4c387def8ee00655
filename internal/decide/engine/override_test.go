package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// operators are the overrides that operators set by command.
type operators struct {
	overrides map[string]*rules.Override // by rule and key
	err       error
	lookups   []string
	at        time.Time // of the last lookup
}

func (o *operators) Override(_ context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	o.lookups, o.at = append(o.lookups, rule+" "+key), now
	return o.overrides[rule+" "+key], o.err
}

const business = `
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans:
  pro: {api: 4}
  free: {api: 1}
  enterprise: {api: unlimited}
rules:
  - name: api
    when: {route: /v1/**, caller: known}
    key: user:{jwt.sub}
    limits: [{capacity: 2, window: 60s}]
    overrides: true
  - name: tenant
    when: {route: /v1/**, caller: known}
    key: tenant:{jwt.tenant}
    limits: [{capacity: 100, window: 60s}]
    overrides: true
    on_error: deny
overrides:
  plan: {"user:promoted": {plan: pro}, "user:banned": {deny: true, why: ticket 81}}
  api:
    "user:big": {capacity: 3}
    "user:shape": {limits: [{name: a, capacity: 1, window: 1s}, {name: b, capacity: 9, window: 60s}]}
    "user:free-for-all": {unlimited: true}
    "user:gone": {deny: true, why: ticket 82}
    "user:past": {capacity: 9, until: 2020-01-01T00:00:00Z}
`

func (b *fixture) decideFor(t *testing.T, sub, plan string, after time.Duration) *engine.Decision {
	t.Helper()
	req := &request.Request{
		Method: "GET", Path: "/v1/items", IP: netip.MustParseAddr("203.0.113.9"),
		Claims: map[string]any{"sub": sub, "tenant": "acme", "plan": plan},
	}
	d, err := b.engine.Decide(context.Background(), epoch.Add(after), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newBusiness(t *testing.T, o *operators, today time.Time) *fixture {
	t.Helper()
	set := parse(t, business)
	b := &fixture{store: fakestore.New(nil), local: memory.New(0), recorder: &recorder{}}
	b.engine = engine.New(engine.Options{
		Rules: engine.Fixed{Set: set}, Overrides: o, Store: b.store, Local: b.local, Observer: b.recorder, Today: today,
	})
	return b
}

// TestToday decides requests of years ago by the overrides that apply today.
// Windows still use the time of the request.
func TestToday(t *testing.T) {
	const ago = -5 * 365 * 24 * time.Hour
	soon := epoch.Add(1)
	o := &operators{overrides: map[string]*rules.Override{
		"plan user:demoted": {Plan: "free", Until: soon},
		"plan user:moved":   {Plan: "pro", Until: epoch},
		"api user:raised":   {Capacity: map[string]int64{"": 6}, Until: soon},
		"api user:ended":    {Capacity: map[string]int64{"": 6}, Until: epoch},
		"api user:big":      {Capacity: map[string]int64{"": 6}, Until: epoch}, // the document's override applies again
		"api user:granted":  {Grants: []rules.Grant{{Add: 3, Until: soon}, {Add: 50, Until: epoch}}},
	}}
	for _, test := range []struct {
		sub, plan string
		want      int
	}{
		{"nobody", "", 2}, {"demoted", "pro", 1}, {"moved", "", 2}, {"raised", "", 6}, {"ended", "", 2}, {"big", "", 3}, {"granted", "", 5},
		{"past", "", 2}, // by the document, whose override had not ended then
	} {
		b := newBusiness(t, o, epoch)
		allowed := 0
		for b.decideFor(t, test.sub, test.plan, ago).Allowed {
			allowed++
		}
		if allowed != test.want {
			t.Errorf("%s on plan %q gets %d requests, want %d", test.sub, test.plan, allowed, test.want)
		}
		if !o.at.Equal(epoch) {
			t.Errorf("%s was looked up at %v, want %v", test.sub, o.at, epoch)
		}
		if !b.decideFor(t, test.sub, test.plan, ago+2*time.Minute).Allowed {
			t.Errorf("%s is denied in a new window", test.sub)
		}
	}
}

// TestOverrideLookups: the engine looks up overrides only for rules that take
// them by command, not for a rule whose overrides are in the document alone.
func TestOverrideLookups(t *testing.T) {
	set := parse(t, `
rules:
  - {name: listed, key: "stage:{stage}", overrides: true, limits: [{capacity: 9, window: 60s}]}
  - {name: written, key: "stage:{stage}", limits: [{capacity: 9, window: 60s}]}
  - {name: plain, key: all, limits: [{capacity: 9, window: 60s}]}
overrides: {written: {"stage:prod": {capacity: 2}}}`)
	o := &operators{}
	e := engine.New(engine.Options{
		Rules: engine.Fixed{Set: set}, Overrides: o, Store: memory.New(0), Local: memory.New(0),
	})
	for i := range 3 {
		d, err := e.Decide(context.Background(), epoch, &request.Request{Method: "GET", Path: "/", Stage: "prod"})
		if err != nil || d.Allowed != (i < 2) {
			t.Errorf("%+v, error %v: want the document's override to apply", d, err)
		}
	}
	if want := []string{"listed stage:prod", "listed stage:prod"}; !slices.Equal(o.lookups, want) {
		t.Errorf("looked up %q, want %q", o.lookups, want)
	}
}

// TestUnreadable: if overrides cannot be read, the rule's on_error decides, and
// each failure is recorded.
func TestUnreadable(t *testing.T) {
	b := newBusiness(t, &operators{err: errors.New("no answer")}, time.Time{})
	d := b.decideFor(t, "7", "pro", 0)
	if d.Allowed || !d.Degraded || len(d.Verdicts) != 1 || d.Verdicts[0].Rule.Name != "tenant" || !d.Verdicts[0].Uncounted {
		t.Errorf("%+v: want a denial by tenant, which has on_error: deny", d)
	}
	if b.store.Count(fakestore.Charge) != 0 {
		t.Errorf("%d charges for a request that was denied beforehand", b.store.Count(fakestore.Charge))
	}
	want := []failure{
		{"read override: plan of the request", "plan", "user:7"},
		{"read override: local", "api", "user:7"},
		{"read override: deny", "tenant", "tenant:acme"},
	}
	if got := b.recorder.failures; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// TestFloodCausesNoLookups: if another rule denies a flood of made-up keys, the
// engine looks up no overrides for them.
func TestFloodCausesNoLookups(t *testing.T) {
	set := parse(t, `
rules:
  - {name: user, key: "user:{header.x-user}", overrides: true, limits: [{capacity: 9, window: 60s}]}
  - {name: address, key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}`)
	o, r := &operators{}, &recorder{}
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Overrides: o, Store: memory.New(0), Local: memory.New(0), Observer: r})
	for i := range 1000 {
		req := &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9"), Headers: map[string][]string{"X-User": {fmt.Sprint(i)}}}
		d, err := e.Decide(context.Background(), epoch, req)
		if err != nil || d.Allowed != (i == 0) || len(d.Verdicts) == 0 {
			t.Fatalf("request %d: %+v, error %v", i, d, err)
		}
	}
	if len(o.lookups) != 1 {
		t.Errorf("%d keys were looked up for 999 denials", len(o.lookups)-1)
	}
}

// TestUnreadableUnlimited: the override of a key whose plan lifts the rule
// cannot be read. It might deny, so on_error: deny denies, and the decision is
// degraded.
func TestUnreadableUnlimited(t *testing.T) {
	for onError, allowed := range map[string]bool{"deny": false, "allow": true, "local": true} {
		set := parse(t, `
plan: {from: jwt.plan}
plans: {all: {api: unlimited}}
rules: [{name: api, key: "user:{jwt.sub}", overrides: true, on_error: `+onError+`, limits: [{capacity: 9, window: 60s}]}]`)
		r := &recorder{}
		e := engine.New(engine.Options{
			Rules: engine.Fixed{Set: set}, Overrides: &operators{err: errDown}, Store: memory.New(0), Local: memory.New(0), Observer: r,
		})
		req := &request.Request{Method: "GET", Path: "/", Claims: map[string]any{"sub": "7", "plan": "all"}}
		d, err := e.Decide(context.Background(), epoch, req)
		if err != nil || d.Allowed != allowed || !d.Degraded || len(r.failures) != 1 || onError == "deny" && len(d.Verdicts) != 1 {
			t.Errorf("on_error: %s: %+v, error %v, recorded %v", onError, d, err, r.failures)
		}
	}
}

// TestStaleOverride: an override has a capacity for a limit that the rule no
// longer has. The rest of it applies, and the override is recorded.
func TestStaleOverride(t *testing.T) {
	o := &operators{overrides: map[string]*rules.Override{"api user:7": {Capacity: map[string]int64{"": 1, "tokens": 9}}}}
	b := newBusiness(t, o, time.Time{})
	if first, second := b.decideFor(t, "7", "", 0), b.decideFor(t, "7", "", 0); !first.Allowed || second.Allowed {
		t.Errorf("%+v, %+v: want a capacity of 1", first, second)
	}
	if got := b.recorder.failures; len(got) != 2 || got[0] != (failure{"stale override", "api", "user:7"}) {
		t.Errorf("recorded %v", got)
	}
}

// TestReplacedLimitsCountSeparately: an override that replaces a rule's limits
// has counters of its own. When it ends, the rule's counters continue.
func TestReplacedLimitsCountSeparately(t *testing.T) {
	replaced, _, err := rulefile.ParseOverride("override", []byte(`{limits: [{name: a, capacity: 1, window: 1s}, {name: b, capacity: 9, window: 60s}]}`))
	if err != nil {
		t.Fatal(err)
	}
	o := &operators{overrides: map[string]*rules.Override{}}
	b := newBusiness(t, o, time.Time{})
	step := func(what string, allowed bool, limits int) {
		t.Helper()
		d := b.decideFor(t, "7", "", 0)
		if d.Allowed != allowed || len(d.Verdicts[0].Terms.Limits) != limits {
			t.Errorf("%s: allowed %v by %d limits, want %v by %d", what, d.Allowed, len(d.Verdicts[0].Terms.Limits), allowed, limits)
		}
	}
	step("the first of two", true, 1)
	o.overrides["api user:7"] = replaced
	step("the first by other limits", true, 2)
	step("two in a second", false, 2)
	delete(o.overrides, "api user:7")
	step("the second of two", true, 1)
	step("the third", false, 1)
	if d := b.decideFor(t, "shape", "", 0); d.Verdicts[0].PolicyName(0) != "api.a" || d.Verdicts[0].PolicyName(1) != "api.b" {
		t.Errorf("limits of a document's override are known as %s and %s", d.Verdicts[0].PolicyName(0), d.Verdicts[0].PolicyName(1))
	}
}

// TestUnreadableIsCounted: if overrides cannot be read, a rule's counter decides
// by the document's limit as long as it answers, whatever on_error says; only
// on_error: deny refuses without it. Once the counter fails too, on_error decides.
func TestUnreadableIsCounted(t *testing.T) {
	for onError, want := range map[string]struct{ allowed, whileBothFail int }{
		"local": {3, 3}, "allow": {3, 10}, "deny": {0, 0},
	} {
		b := &fixture{store: fakestore.New(nil), recorder: &recorder{}}
		b.engine = engine.New(engine.Options{
			Rules: engine.Fixed{Set: parse(t, `defaults: {instances: 1}
rules: [{name: r, key: all, overrides: true, on_error: `+onError+`, limits: [{capacity: 30, window: 60s}]}]
overrides: {r: {all: {capacity: 3}}}`)},
			Overrides: &operators{err: errDown}, Store: b.store, Local: memory.New(0), Observer: b.recorder,
		})
		allowed := func() (n int) {
			for range 10 {
				if d := b.decide(t, "/"); d.Allowed {
					n++
				} else if !d.Degraded {
					t.Errorf("on_error: %s: %+v, want a degraded decision", onError, d)
				}
			}
			return n
		}
		if n := allowed(); n != want.allowed {
			t.Errorf("on_error: %s: %d of 3 allowed by a counter that answers, want %d", onError, n, want.allowed)
		}
		b.store.Hook = fakestore.Fail(errDown)
		if n := allowed(); n != want.whileBothFail {
			t.Errorf("on_error: %s: %d allowed without a counter, want %d", onError, n, want.whileBothFail)
		}
	}
}

// slowOverrides answer no lookup before its context ends, as a table that hangs.
type slowOverrides struct{}

func (slowOverrides) Override(ctx context.Context, _ time.Time, _, _ string) (*rules.Override, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestSlowLookupsLeaveTime: lookups that hang take half of the deadline together,
// so that the counters of all rules are charged in the other half.
func TestSlowLookupsLeaveTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fakestore.New(func(c *fakestore.Call) error { return pause(c.Ctx, 30*time.Millisecond) })
		e := engine.New(engine.Options{
			Rules: engine.Fixed{Set: parse(t, `
plan: {overrides: "stage:{stage}"}
defaults: {on_error: allow}
rules:
  - {name: a, key: all, overrides: true, limits: [{capacity: 2, window: 60s}]}
  - {name: b, key: "stage:{stage}", overrides: true, limits: [{capacity: 9, window: 60s}]}`)},
			Overrides: slowOverrides{}, Store: store, Local: memory.New(0), Deadline: 250 * time.Millisecond,
		})
		for i := range 4 {
			d, err := e.Decide(t.Context(), epoch, &request.Request{Method: "GET", Path: "/", Stage: "prod"})
			if err != nil || d.Allowed != (i < 2) || !d.Degraded {
				t.Errorf("request %d: %+v, error %v", i, d, err)
			}
		}
	})
}

// TestSlowLookupsBlameNoCounters: counters that take 200 ms answer within the
// deadline. After lookups that hang they do not, and their breaker stays closed.
func TestSlowLookupsBlameNoCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := breaker.New(time.Now, func(breaker.Change) {})
		store := fakestore.New(func(c *fakestore.Call) error {
			return guard.Do(c.Ctx, func() error { return pause(c.Ctx, 200*time.Millisecond) }, func(error) bool { return false })
		})
		for _, overrides := range []engine.OverrideSource{slowOverrides{}, &operators{}} {
			e := engine.New(engine.Options{
				Rules:     engine.Fixed{Set: parse(t, `rules: [{name: r, key: all, overrides: true, on_error: allow, limits: [{capacity: 3, window: 60s}]}]`)},
				Overrides: overrides, Store: store, Local: memory.New(0), Deadline: 250 * time.Millisecond,
			})
			slow := overrides == engine.OverrideSource(slowOverrides{})
			for range 6 {
				d, err := e.Decide(t.Context(), epoch, &request.Request{Method: "GET", Path: "/"})
				if err != nil || d.Degraded != slow || guard.Open() {
					t.Fatalf("slow lookups: %t: degraded %t, error %v, breaker open %t", slow, d.Degraded, err, guard.Open())
				}
			}
		}
	})
}
