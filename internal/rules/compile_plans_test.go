package rules

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
)

const threePlans = `
plan: {from: jwt.plan}
plans:
  pro: {api: 6000, chat: {tokens: 90000}, upload: 50, steady: 50, only: {hour: 7}}
  enterprise: {api: unlimited, chat: {requests: 600, tokens: 900000}}
  "price_1Hx free": {}
rules:
- {name: api, key: k, limits: [{capacity: 100, window: 60s}]}
- {name: chat, key: k, limits: [{name: requests, capacity: 10, window: 60s}, {name: tokens, capacity: 4000, window: 60s}]}
- {name: upload, key: k, limits: [{algorithm: token_bucket, capacity: 10, window: 1s}]}
- {name: steady, key: k, limits: [{algorithm: token_bucket, capacity: 10, window: 1s, burst: 5}]}
- {name: only, key: k, limits: [{name: hour, capacity: 10, window: 1h}]}
- {name: clamped, key: k, cost: 60, limits: [{capacity: 50, window: 1h, over: clamp}]}
`

func TestPlans(t *testing.T) {
	s := parse(t, threePlans)
	if diff := cmp.Diff([]string{"enterprise", "price_1Hx free", "pro"}, s.plans); diff != "" {
		t.Errorf("plans (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ rule, plan, want string }{
		{"api", "pro", "6000/1m0s cost 1"},
		{"api", "price_1Hx free", "100/1m0s cost 1"},
		{"chat", "pro", "requests 10/1m0s cost 1, tokens 90000/1m0s cost 1"},
		{"chat", "enterprise", "requests 600/1m0s cost 1, tokens 900000/1m0s cost 1"},
		{"only", "pro", "hour 7/1h0m0s cost 1"},
		{"only", "enterprise", "hour 10/1h0m0s cost 1"},
		{"clamped", "pro", "50/1h0m0s cost 50"},
	} {
		r, _ := s.Rule(tt.rule)
		terms := r.Terms(&request.Request{}, tt.plan, nil, time.Time{})
		if got := describeTerms(terms); got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.rule, tt.plan, got, tt.want)
		}
		if before := own(r); r.Item("k", terms) != r.Item("k", before) {
			t.Errorf("%s on %s is another counter", tt.rule, tt.plan)
		}
	}
	bursts := func(rule string) (own, pro int64) {
		r, _ := s.Rule(rule)
		terms := r.Terms(&request.Request{}, "pro", nil, time.Time{})
		return r.Limits[0].Burst, terms.Limits[0].Burst
	}
	if own, pro := bursts("upload"); own != 10 || pro != 50 {
		t.Errorf("a burst that follows its capacity goes from %d to %d", own, pro)
	}
	if own, pro := bursts("steady"); own != 5 || pro != 5 {
		t.Errorf("a burst of its own goes from %d to %d", own, pro)
	}
	api, _ := s.Rule("api")
	if terms := api.Terms(&request.Request{}, "enterprise", nil, time.Time{}); !terms.Unlimited {
		t.Error("api is limited for enterprise")
	}
}

// A plan that raises a limit raises what a clamped cost takes.
func TestPlanUnclamps(t *testing.T) {
	s := parse(t, "{plan: {from: jwt.p}, plans: {pro: {r: 500}}, rules: [{name: r, key: k, cost: 60, limits: [{capacity: 50, window: 1h, over: clamp}]}]}")
	for plan, want := range map[string]int64{"": 50, "pro": 60} {
		if terms := s.Rules[0].Terms(&request.Request{}, plan, nil, time.Time{}); terms.Costs[0] != want {
			t.Errorf("plan %q: cost %d, want %d", plan, terms.Costs[0], want)
		}
	}
}
