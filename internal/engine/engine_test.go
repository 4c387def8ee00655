package engine_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

var (
	epoch   = time.Unix(1_700_000_040, 0)
	errDown = errors.New("store is down")
)

// faulty is a memory store that fails for the keys of some rules, and counts
// its calls.
type faulty struct {
	*memory.Store
	down       []string // rules
	noSnapshot bool     // denies nothing without a round trip
	charges    int
	settles    int
	groups     []int // how many rules were charged at once, each time
}

func (f *faulty) fails(c *limit.Charge) bool {
	return slices.ContainsFunc(f.down, func(rule string) bool { return len(c.Key) > len(rule) && c.Key[:len(rule)+1] == rule+"|" })
}

func (f *faulty) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	f.charges++
	if f.fails(c) {
		leaveAny(v)
		return errDown
	}
	return f.Store.Charge(ctx, now, c, v)
}

func (f *faulty) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	f.charges++
	f.groups = append(f.groups, len(cs))
	for i, c := range cs {
		if f.fails(c) {
			leaveAny(vs[i])
			return errDown
		}
	}
	return f.Store.ChargeAll(ctx, now, cs, vs)
}

func (f *faulty) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	f.settles++
	return f.Store.Settle(ctx, now, c, r, deltas)
}

// leaveAny fills in a verdict as an interrupted call may leave it.
func leaveAny(v *limit.Verdict) {
	v.Result = limit.Result{Allowed: true, Remaining: 7, Reset: time.Hour, RetryAfter: time.Hour, Delay: time.Hour}
	v.Limits = append(v.Limits[:0], v.Result)
}

func (f *faulty) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return !f.noSnapshot && !f.fails(c) && f.Store.Denies(now, c, v)
}

type failure struct{ action, rule, key string }

type recorder struct {
	engine.NoObserver
	calls    []string // of the store, with their errors
	failures []failure
	mu       sync.Mutex
	decided  []*engine.Decision
}

func (r *recorder) StoreFailed(_ context.Context, action, rule, key string, _ error) {
	r.failures = append(r.failures, failure{action, rule, key})
}

func (r *recorder) StoreCall(_ context.Context, name string) func(error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, name)
	i := len(r.calls) - 1
	return func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			r.calls[i] += " failed"
		}
	}
}

func (r *recorder) StaleOverride(_ context.Context, _ time.Time, rule, key string) {
	r.failures = append(r.failures, failure{"stale override", rule, key})
}

func (r *recorder) Decided(_ context.Context, _ time.Time, d *engine.Decision) {
	r.decided = append(r.decided, d)
}

// itemOf is the counter of a rule whose key is "all".
func itemOf(rule *rules.Rule) string {
	terms := rule.Terms(&request.Request{}, "", nil, epoch)
	return rule.Item("all", terms)
}

type bench struct {
	engine   *engine.Engine
	store    *faulty
	local    *memory.Store
	recorder *recorder
}

// parse compiles a rules file.
func parse(t testing.TB, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func newBench(t *testing.T, document string) *bench {
	t.Helper()
	set := parse(t, document)
	b := &bench{store: &faulty{Store: memory.New(0)}, local: memory.New(0), recorder: &recorder{}}
	b.engine = engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: b.store, Local: b.local, Observer: b.recorder})
	return b
}

func (b *bench) decide(t *testing.T, path string) *engine.Decision {
	t.Helper()
	req := &request.Request{Method: "GET", Path: path, Stage: "prod", IP: netip.MustParseAddr("203.0.113.9")}
	d, err := b.engine.Decide(context.Background(), epoch, req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const twoRules = `
unmatched: deny
deny: [{path: /banned}]
skip: [{route: /health}]
rules:
  - {name: wide, when: {route: /v1/**}, key: "ip:{ip}", limits: [{capacity: 100, window: 60s}]}
  - {name: narrow, when: {route: /v1/chat}, key: "ip:{ip}", limits: [{capacity: 2, window: 60s}]}
`

func TestReasons(t *testing.T) {
	b := newBench(t, twoRules)
	for path, want := range map[string]struct {
		allowed bool
		reason  engine.Reason
		rules   int
	}{
		"/v1/items": {true, engine.Limited, 1},
		"/v1/chat":  {true, engine.Limited, 2},
		"/health":   {true, engine.Skipped, 0},
		"/banned":   {false, engine.Banned, 0},
		"/other":    {false, engine.Unmatched, 0},

		"/v1//chat":      {false, engine.Ambiguous, 0},
		"/x/../health":   {false, engine.Ambiguous, 0},
		"/banned;x":      {false, engine.Ambiguous, 0},
		"/v1/chat%2Ff/x": {false, engine.Ambiguous, 0},
	} {
		d := b.decide(t, path)
		if d.Allowed != want.allowed || d.Reason != want.reason || len(d.Verdicts) != want.rules || d.Degraded {
			t.Errorf("%s: got %+v, want %+v", path, d, want)
		}
	}
}

// TestAmbiguousPaths: an ambiguous path is denied before anything is counted.
// With ambiguous_paths: clean, the rules match both variants of the path.
func TestAmbiguousPaths(t *testing.T) {
	b := newBench(t, twoRules)
	for range 3 {
		if d := b.decide(t, "/v1//chat"); d.Allowed || d.Reason != engine.Ambiguous {
			t.Errorf("got %+v", d)
		}
	}
	if b.store.charges > 0 {
		t.Errorf("%d charges for paths that are denied", b.store.charges)
	}
	if d := b.decide(t, "/v1/chat"); !d.Allowed || d.Verdicts[1].Remaining != 1 {
		t.Errorf("got %+v", d)
	}
	b = newBench(t, "ambiguous_paths: clean\n"+twoRules)
	for i, path := range []string{"/v1//chat", "/x/../v1/chat;x=1", "/v1/chat"} {
		if d := b.decide(t, path); d.Allowed != (i < 2) || d.Reason != engine.Limited {
			t.Errorf("%s: got %+v", path, d)
		}
	}
	if d := b.decide(t, "/x/../health"); d.Allowed || d.Reason != engine.Unmatched {
		t.Errorf("a path that is not clean was skipped: %+v", d)
	}
}

// TestSeveralRules: if the second rule denies, the charge of the first is
// refunded.
func TestSeveralRules(t *testing.T) {
	for _, noSnapshot := range []bool{false, true} {
		b := newBench(t, twoRules)
		b.store.noSnapshot = noSnapshot
		for range 2 {
			if d := b.decide(t, "/v1/chat"); !d.Allowed {
				t.Fatal("denied too early")
			}
		}
		for range 3 {
			d := b.decide(t, "/v1/chat")
			if d.Allowed || len(d.Verdicts) != 1 || d.Verdicts[0].Rule.Name != "narrow" || d.Verdicts[0].RetryAfter != 61*time.Second {
				t.Fatalf("got %+v", d)
			}
		}
		if d := b.decide(t, "/v1/items"); d.Verdicts[0].Remaining != 97 {
			t.Errorf("no snapshot %v: %d left, want 97: a denied request counted against the first rule", noSnapshot, d.Verdicts[0].Remaining)
		}
		if want := map[bool]int{false: 5, true: 11}[noSnapshot]; b.store.charges != want {
			t.Errorf("no snapshot %v: %d charges, want %d", noSnapshot, b.store.charges, want)
		}
	}
}

func TestOnError(t *testing.T) {
	for policy, want := range map[string][]bool{ // whether each of three requests is allowed while the store is down
		"allow": {true, true, true},
		"deny":  {false, false, false},
		"local": {true, true, false}, // 40 divided among 20 processes
	} {
		b := newBench(t, "rules: [{name: r, key: 'ip:{ip}', on_error: "+policy+", limits: [{capacity: 40, window: 60s}]}]")
		b.store.down = []string{"r"}
		for i, allowed := range want {
			d := b.decide(t, "/")
			if d.Allowed != allowed || !d.Degraded {
				t.Errorf("%s, request %d: allowed %v, degraded %v", policy, i, d.Allowed, d.Degraded)
			}
			if !d.Allowed && d.Verdicts[0].RetryAfter <= 0 {
				t.Errorf("%s, request %d: no retry-after", policy, i)
			}
		}
		if f := b.recorder.failures; len(f) != 3 || f[0] != (failure{"on_error: " + policy, "r", "ip:203.0.113.9"}) {
			t.Errorf("%s: recorded %v", policy, f)
		}
		b.store.down = nil
		if d := b.decide(t, "/"); !d.Allowed || d.Degraded || d.Verdicts[0].Remaining != 39 {
			t.Errorf("%s: after the outage got %+v", policy, d)
		}
	}
}

// TestOnErrorOfOneRule: while the store fails for one rule, the others decide.
func TestOnErrorOfOneRule(t *testing.T) {
	b := newBench(t, `rules:
  - {name: first, key: "ip:{ip}", limits: [{capacity: 9, window: 60s}]}
  - {name: remote, key: "ip:{ip}", on_error: allow, limits: [{capacity: 1, window: 60s}]}
  - {name: last, key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
`)
	b.store.down, b.store.noSnapshot = []string{"remote"}, true
	if d := b.decide(t, "/"); !d.Allowed || !d.Degraded || len(d.Verdicts) != 3 || !d.Verdicts[1].Uncounted {
		t.Errorf("got %+v", d)
	}
	if d := b.decide(t, "/"); d.Allowed || d.Verdicts[0].Rule.Name != "last" {
		t.Errorf("got %+v", d)
	}
	b.store.down, b.store.noSnapshot = nil, false
	before := b.store.charges
	if d := b.decide(t, "/"); d.Allowed || d.Degraded || d.Verdicts[0].Rule.Name != "last" || b.store.charges != before {
		t.Errorf("got %+v after %d charges, want a denial by last without any", d, b.store.charges-before)
	}
}

type noRules struct{}

func (noRules) Rules(context.Context, time.Time) (*rules.Set, error) { return nil, errDown }

func TestNoRules(t *testing.T) {
	e := engine.New(engine.Options{Rules: noRules{}, Store: memory.New(0), Local: memory.New(0)})
	if d, err := e.Decide(context.Background(), epoch, &request.Request{}); !errors.Is(err, errDown) || d != nil {
		t.Errorf("decision %v, error %v", d, err)
	}
}

// slow is a store that answers only when its caller has given up.
type slow struct{ *memory.Store }

func (slow) Charge(ctx context.Context, _ time.Time, _ *limit.Charge, _ *limit.Verdict) error {
	<-ctx.Done()
	return errDown
}

func TestDeadline(t *testing.T) {
	set := parse(t, "rules: [{name: r, key: 'ip:{ip}', on_error: allow, limits: [{capacity: 40, window: 60s}]}]")
	e := engine.New(engine.Options{
		Rules: engine.Fixed{Set: set}, Store: slow{memory.New(0)}, Local: memory.New(0), Deadline: time.Millisecond,
	})
	if d, err := e.Decide(context.Background(), epoch, &request.Request{}); err != nil || !d.Allowed || !d.Degraded {
		t.Errorf("decision %+v, error %v", d, err)
	}
}

// undecided is a store that answers, but cannot take any charge.
type undecided struct{ *memory.Store }

func (undecided) Charge(context.Context, time.Time, *limit.Charge, *limit.Verdict) error {
	return memory.ErrFull
}

// TestUndecidedIsNoOutage: a charge that a healthy store could not take is
// denied. Counting it locally would admit more than the limit.
func TestUndecidedIsNoOutage(t *testing.T) {
	for policy, want := range map[string]bool{"local": false, "deny": false, "allow": true} {
		set := parse(t, "rules: [{name: r, key: 'ip:{ip}', on_error: "+policy+", limits: [{capacity: 40, window: 60s}]}]")
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: undecided{memory.New(0)}, Local: memory.New(0)})
		if d, err := e.Decide(context.Background(), epoch, &request.Request{}); err != nil || d.Allowed != want || !d.Degraded {
			t.Errorf("%s: decision %+v, error %v", policy, d, err)
		}
	}
}
