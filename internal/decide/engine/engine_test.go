package engine_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

var (
	epoch   = time.Unix(1_700_000_040, 0)
	errDown = errors.New("store is down")
)

type failure struct{ action, rule, key string }

type recorder struct {
	engine.NoObserver
	calls    []string // of the store, with their errors
	failures []failure
	mu       sync.Mutex
	decided  []*engine.Decision
	ctx      context.Context // of the last of them
}

func (r *recorder) StoreFailed(_ context.Context, action, rule, key string, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
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

func (r *recorder) Decided(ctx context.Context, _ time.Time, _ *request.Request, d *engine.Decision) {
	r.decided, r.ctx = append(r.decided, d), ctx
}

// itemOf is the counter of a rule whose key is "all".
func itemOf(rule *rules.Rule) string {
	terms := rule.Terms(&request.Request{}, "", nil, epoch)
	return rule.Item("all", terms)
}

type fixture struct {
	engine   *engine.Engine
	store    *fakestore.Store
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

func newFixture(t *testing.T, document string) *fixture {
	t.Helper()
	set := parse(t, document)
	b := &fixture{store: fakestore.New(nil), local: memory.New(0), recorder: &recorder{}}
	b.engine = engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: b.store, Local: b.local, Observer: b.recorder})
	return b
}

func (b *fixture) decide(t *testing.T, path string) *engine.Decision {
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

// TestAmbiguousPaths: an ambiguous path is denied before anything is counted.
// With ambiguous_paths: clean, the rules match both variants of the path.
func TestAmbiguousPaths(t *testing.T) {
	b := newFixture(t, twoRules)
	for range 3 {
		if d := b.decide(t, "/v1//chat"); d.Allowed || d.Reason != engine.Ambiguous {
			t.Errorf("got %+v", d)
		}
	}
	if b.store.Count(fakestore.Charge) > 0 {
		t.Errorf("%d charges for paths that are denied", b.store.Count(fakestore.Charge))
	}
	if d := b.decide(t, "/v1/chat"); !d.Allowed || d.Verdicts[1].Remaining != 1 {
		t.Errorf("got %+v", d)
	}
	b = newFixture(t, "ambiguous_paths: clean\n"+twoRules)
	for i, path := range []string{"/v1//chat", "/x/../v1/chat;x=1", "/v1/chat"} {
		if d := b.decide(t, path); d.Allowed != (i < 2) || d.Reason != engine.Limited {
			t.Errorf("%s: got %+v", path, d)
		}
	}
	if d := b.decide(t, "/x/../health"); d.Allowed || d.Reason != engine.Unmatched {
		t.Errorf("a path that is not clean was skipped: %+v", d)
	}
}

func TestOnError(t *testing.T) {
	for policy, want := range map[string][]bool{ // whether each of three requests is allowed while the store is down
		"allow": {true, true, true},
		"deny":  {false, false, false},
		"local": {true, true, false}, // 40 divided among 20 processes
	} {
		b := newFixture(t, "rules: [{name: r, key: 'ip:{ip}', on_error: "+policy+", limits: [{capacity: 40, window: 60s}]}]")
		b.store.Hook = fakestore.Down(errDown, "r")
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
		b.store.Hook = nil
		if d := b.decide(t, "/"); !d.Allowed || d.Degraded || d.Verdicts[0].Remaining != 39 {
			t.Errorf("%s: after the outage got %+v", policy, d)
		}
	}
}

// TestUndecidedIsNoOutage: a charge that a healthy store could not take is
// denied. Counting it locally would admit more than the limit.
func TestUndecidedIsNoOutage(t *testing.T) {
	for policy, want := range map[string]bool{"local": false, "deny": false, "allow": true} {
		set := parse(t, "rules: [{name: r, key: 'ip:{ip}', on_error: "+policy+", limits: [{capacity: 40, window: 60s}]}]")
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: fakestore.New(fakestore.Fail(memory.ErrFull)), Local: memory.New(0)})
		if d, err := e.Decide(context.Background(), epoch, &request.Request{}); err != nil || d.Allowed != want || !d.Degraded {
			t.Errorf("%s: decision %+v, error %v", policy, d, err)
		}
	}
}
