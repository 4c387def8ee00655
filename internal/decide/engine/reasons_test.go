package engine_test

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const everyReason = `
unmatched: deny
deny: [{path: /banned}]
skip: [{path: /health}]
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans: {all: {api: unlimited}}
rules: [{name: api, when: {path: /api}, key: all, limits: [{capacity: 9, window: 60s}]}]
overrides: {plan: {"user:gone": {deny: true, why: ticket 7}}}
`

// TestEveryReason makes a decision of each reason. Each says so by name, names
// the rules that made it, and reaches the recorder.
func TestEveryReason(t *testing.T) {
	preflight := map[string][]string{"origin": {"https://a.example"}, "access-control-request-method": {"PUT"}}
	for _, test := range []struct {
		req  request.Request
		want string
		ok   bool
	}{
		{request.Request{Method: "GET", Path: "/api"}, "limited", true},
		{request.Request{Method: "GET", Path: "/health"}, "skipped", true},
		{request.Request{Method: "GET", Path: "/banned"}, "banned", false},
		{request.Request{Method: "GET", Path: "/api", Claims: map[string]any{"sub": "gone"}}, "banned", false},
		{request.Request{Method: "GET", Path: "/other"}, "unmatched", false},
		{request.Request{Method: "GET", Path: "/api", Claims: map[string]any{"sub": "7", "plan": "all"}}, "exempt", true},
		{request.Request{Method: "GET", Path: "/x/../api"}, "ambiguous", false},
		{request.Request{Method: "OPTIONS", Path: "/api", Headers: preflight}, "preflight", true},
		{request.Request{Method: "OPTIONS", Path: "/banned", Headers: preflight}, "banned", false},
		{request.Request{Method: "OPTIONS", Path: "/x/../api", Headers: preflight}, "ambiguous", false},
	} {
		set, log := parse(t, everyReason), &recorder{}
		set.Version = 7
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Local: memory.New(0), Observer: log})
		d, err := e.Decide(t.Context(), epoch, &test.req)
		if err != nil || d.Reason.String() != test.want || d.Allowed != test.ok || d.RulesVersion() != 7 {
			t.Errorf("%s: %+v, error %v", test.want, d, err)
		}
		if len(log.decided) != 1 || log.decided[0] != d {
			t.Errorf("%s: recorded %+v", test.want, log.decided)
		}
	}
}

// TestBanOfOneRule: the decision reports only the rule whose override denies.
func TestBanOfOneRule(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: plain, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: strict, key: "stage:{stage}", limits: [{capacity: 9, window: 60s}]}
  - {name: shadow, mode: shadow, key: all, limits: [{capacity: 9, window: 60s}]}
overrides: {strict: {"stage:prod": {deny: true}}}`)
	if d := b.decide(t, "/"); d.Reason != engine.Banned || names(d) != "strict" || d.Shadows != nil {
		t.Errorf("%+v", d)
	}
}

// TestWithoutRules: a decision that no document made has the default answers.
func TestWithoutRules(t *testing.T) {
	d := &engine.Decision{}
	if diff := gocmp.Diff(rules.Answers{}, d.Answers()); diff != "" || d.RulesVersion() != 0 {
		t.Errorf("version %d, answers (-want +got):\n%s", d.RulesVersion(), diff)
	}
}

// asked is a source of rules that fails, and counts its calls.
type asked struct {
	calls int
	end   context.CancelFunc // called first
}

func (a *asked) Rules(ctx context.Context, _ time.Time) (*rules.Set, error) {
	a.calls++
	a.end()
	return nil, errDown
}

// TestRulesAreReadOnce: only the decision's own deadline has the rules read
// again, not their own failure, nor a caller who has hung up.
func TestRulesAreReadOnce(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	for name, source := range map[string]*asked{"a failure": {end: func() {}}, "a hang-up": {end: hangUp}} {
		e := engine.New(engine.Options{Rules: source, Store: memory.New(0), Local: memory.New(0), Deadline: time.Hour})
		if _, err := e.Decide(ctx, epoch, &request.Request{}); err == nil || source.calls != 1 {
			t.Errorf("%s: the rules are read %d times, error %v", name, source.calls, err)
		}
	}
}

// watching keeps the contexts that it is called with.
type watching struct {
	recorder
	ctxs []context.Context
}

func (w *watching) Decided(ctx context.Context, _ time.Time, _ *request.Request, _ *engine.Decision) {
	w.ctxs = append(w.ctxs, ctx)
}

// TestContextsEnd: the contexts of a decision end with it, so that their timers
// do not wait for the deadline.
func TestContextsEnd(t *testing.T) {
	w := &watching{}
	e := engine.New(engine.Options{
		Rules: engine.Fixed{Set: parse(t, "rules: []")}, Store: memory.New(0), Local: memory.New(0), Observer: w, Deadline: time.Hour,
	})
	if _, err := e.Decide(t.Context(), epoch, &request.Request{}); err != nil || len(w.ctxs) != 1 || w.ctxs[0].Err() == nil {
		t.Errorf("contexts %v, error %v", w.ctxs, err)
	}
}
