package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

const layered = `
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans: {pro: {api: 500}, all: {api: unlimited}}
rules:
  - {name: api, key: "user:{jwt.sub}", overrides: true, limits: [{capacity: 100, window: 60s}]}
overrides:
  plan: {"user:promoted": {plan: pro}}
  api:
    "user:written": {capacity: 7}
    "user:other": {capacity: 7}
    "user:past": {capacity: 9, until: 2020-01-01T00:00:00Z}
    "user:replaced": {limits: [{capacity: 5, window: 1s}]}
`

func newResolver(t *testing.T, o engine.OverrideSource) (*engine.Resolver, *rules.Rule) {
	t.Helper()
	set := parse(t, layered)
	return &engine.Resolver{Set: set, Overrides: o, Now: epoch}, set.Rules[0]
}

// TestResolve: plan, override and grants apply in this order. Resolving known
// keys gives the same as resolving a request.
func TestResolve(t *testing.T) {
	hour := epoch.Add(time.Hour)
	o := &operators{overrides: map[string]*rules.Override{
		"api user:granted": {Grants: []rules.Grant{{Add: 50, Until: hour}}},
		"api user:gone":    {Deny: true},
		"api user:free":    {Unlimited: true},
		"plan user:banned": {Deny: true, Why: "ticket 7"},
		"plan user:moved":  {Plan: "pro"},
		"plan user:lost":   {Plan: "free-2024"},
		"plan user:then":   {Plan: "pro", Until: epoch},
		"api user:raised":  {Capacity: map[string]int64{"": 600}, Grants: []rules.Grant{{Add: 2, Until: hour}, {Add: 50, Until: epoch}}},
		"api user:ended":   {Capacity: map[string]int64{"": 600}, Until: epoch},
		"api user:other":   {Capacity: map[string]int64{"": 1}},
	}}
	for _, test := range []struct {
		sub, plan  string
		wantPlan   string
		capacity   int64 // 0 for a caller without a counter
		bypass     engine.Bypass
		denied     bool
		stale      bool
		overridden bool
	}{
		{sub: "nobody", capacity: 100},
		{sub: "nobody", plan: "pro", wantPlan: "pro", capacity: 500},
		{sub: "nobody", plan: "all", wantPlan: "all", bypass: engine.Unlimited},
		{sub: "granted", plan: "pro", wantPlan: "pro", capacity: 550, overridden: true},
		{sub: "written", plan: "pro", wantPlan: "pro", capacity: 7, overridden: true},
		{sub: "replaced", plan: "pro", wantPlan: "pro", capacity: 5, overridden: true},
		{sub: "raised", plan: "pro", wantPlan: "pro", capacity: 602, overridden: true}, // the override comes before the plan, and grants add to it
		{sub: "ended", plan: "pro", wantPlan: "pro", capacity: 500, overridden: true},
		{sub: "other", capacity: 1, overridden: true}, // an operator comes before the document
		{sub: "past", capacity: 100, overridden: true},
		{sub: "then", capacity: 100},
		{sub: "promoted", wantPlan: "pro", capacity: 500},
		{sub: "nobody", plan: "unheard of", capacity: 100},
		{sub: "gone", plan: "all", wantPlan: "all", bypass: engine.Refused, overridden: true},
		{sub: "free", bypass: engine.Unlimited, overridden: true},
		{sub: "banned", plan: "pro", denied: true, capacity: 100},
		{sub: "moved", wantPlan: "pro", capacity: 500},
		{sub: "lost", plan: "pro", stale: true, capacity: 100},
	} {
		r, rule := newResolver(t, o)
		ctx, req := context.Background(), &request.Request{Claims: map[string]any{"sub": test.sub, "plan": test.plan}}
		plan := r.Plan(ctx, req)
		if plan.Name != test.wantPlan || plan.Denied != test.denied || plan.Stale != test.stale || plan.Key != "user:"+test.sub || plan.Err != nil {
			t.Errorf("%s on %q has %+v", test.sub, test.plan, plan)
		}
		key := "user:" + test.sub
		for name, res := range map[string]engine.Resolution{
			"request": r.Resolve(ctx, rule, req, plan.Name),
			"key":     r.ResolveKey(ctx, rule, req, plan.Name, key, key),
		} {
			if res.Key != key || res.Bypass() != test.bypass || (res.Terms.Override != nil) != test.overridden || res.Terms.Err != nil {
				t.Errorf("%s on %q by %s: %+v", test.sub, test.plan, name, res)
			}
			if test.capacity != 0 && (res.Charge.Limits[0].Capacity != test.capacity || res.Charge.Key != rule.Item(key, res.Terms)) {
				t.Errorf("%s on %q by %s: charges %+v", test.sub, test.plan, name, res.Charge)
			}
		}
	}
}

// TestResolveWithoutKeys: if neither override key is known, the plan that the
// request names applies.
func TestResolveWithoutKeys(t *testing.T) {
	o := &operators{}
	r, rule := newResolver(t, o)
	req := &request.Request{Claims: map[string]any{"plan": "pro"}}
	plan := r.PlanByKey(context.Background(), req, "")
	res := r.ResolveKey(context.Background(), rule, req, plan.Name, "user:7", "")
	if plan.Name != "pro" || res.Charge.Limits[0].Capacity != 500 || len(o.lookups) > 0 {
		t.Errorf("%+v, %+v, looked up %q", plan, res, o.lookups)
	}
}

// settled has limits that settle and limits that do not, in rules of all modes.
const settled = `
skip: [{path: /health}]
plan: {from: jwt.plan}
plans: {free: {chat: unlimited}}
rules:
  - name: chat
    when: {path: [/chat, /free]}
    key: "user:{header.x-user}"
    trusted: [header.x-user]
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 4000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 400, settle: true}}
  - {name: export, key: all, when: {path: /export}, cost: {from: header.x-rows, min: 1, max: 40, settle: true}, limits: [{capacity: 100, window: 1h}]}
  - {name: resting, key: all, mode: off, when: {path: /chat}, cost: {from: header.x-rows, min: 1, max: 40, settle: true}, limits: [{capacity: 100, window: 1h}]}
  - {name: shadow, key: all, mode: shadow, when: {path: /chat}, cost: {from: header.x-rows, min: 1, max: 40, settle: true}, limits: [{capacity: 100, window: 1h}]}
  - {name: chatter, key: all, when: {path: /chat}, limits: [{capacity: 100, window: 1h}]}
overrides:
  chat: {"user:7": {limits: [{name: words, capacity: 100, window: 60s, cost: {from: header.x-words, min: 1, max: 9, settle: true}}, {name: requests, capacity: 100, window: 60s}]}}
`

// TestUnknownCosts names costs after every answer: of limits that settle,
// limits that do not, and unknown limits.
func TestUnknownCosts(t *testing.T) {
	known := []string{"chat.tokens", "export", "resting", "shadow"}
	for name, test := range map[string]struct {
		req   request.Request
		costs []string
		want  []string
		known []string
	}{
		"limits that settle":        {request.Request{Path: "/chat"}, known, nil, known},
		"limits that do not settle": {request.Request{Path: "/chat"}, []string{"chat.requests", "chatter"}, []string{"chat.requests", "chatter"}, known},
		"less or more than a name":  {request.Request{Path: "/chat"}, []string{"", "chat", "chat.", "export.", "export.hour", "chat.tokens.x"}, []string{"", "chat", "chat.", "chat.tokens.x", "export.", "export.hour"}, known},
		"no rule covers it":         {request.Request{Path: "/other"}, []string{"chat.tokens", "chat.token"}, []string{"chat.token"}, known},
		"skipped":                   {request.Request{Path: "/health"}, []string{"chat.tokens", "chat.token"}, []string{"chat.token"}, known},
		"a plan lifts it":           {request.Request{Path: "/free", Claims: map[string]any{"plan": "free"}}, []string{"chat.tokens", "chat.token"}, []string{"chat.token"}, known},
		"an override's limits":      {request.Request{Path: "/chat", Headers: map[string][]string{"x-user": {"7"}}}, []string{"chat.words", "chat.tokens"}, nil, []string{"chat.tokens", "chat.words", "export", "resting", "shadow"}},
	} {
		d, err := newFixture(t, settled).engine.Decide(t.Context(), epoch, &test.req)
		if err != nil || !d.Allowed {
			t.Fatalf("%s: decision %+v, error %v", name, d, err)
		}
		costs := map[string]int64{}
		for _, name := range test.costs {
			costs[name] = 1
		}
		if unknown, settling := d.UnknownCosts(costs), d.SettlingLimits(); !slices.Equal(unknown, test.want) || !slices.Equal(settling, test.known) {
			t.Errorf("%s: unknown are %q, want %q; the limits that settle are %q, want %q", name, unknown, test.want, settling, test.known)
		}
	}
}
