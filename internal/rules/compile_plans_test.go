package rules

import (
	"strings"
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

func TestPlanErrors(t *testing.T) {
	const rules = ", rules: [{name: api, key: k, cost: 5, limits: [{capacity: 100, window: 60s}]}, " +
		"{name: journal, key: k, limits: [{name: a, algorithm: sliding_window_log, capacity: 10, window: 60s}, {name: b, capacity: 10, window: 60s}]}, " +
		"{name: broken, key: k, cost: 5, limits: [{capacity: 100, window: 60s}]}]}"
	for _, tt := range []struct{ document, want string }{
		{"{plan: {from: jwt.plan}" + rules, "plan: names the plans of callers, and there are none: write plans: {pro: {RULE: CAPACITY}}"},
		{"{plan: {overrides: '{apikey}'}" + rules, ""}, // to ban callers, it takes no plans
		{"{plans: {pro: {api: 10}}" + rules, "plans: no source names the plan of a caller: write plan: {from: jwt.plan}"},
		{"{plan: {overrides: '{apikey}'}, plans: {pro: {api: 10}}" + rules, ""},
		{"{plan: {from: stage}, plans: {}" + rules, ""},
		{"{plan: {}" + rules, "plan: is empty: write from: jwt.plan, or remove it"},
		{"{plan: jwt.plan, plans: {}" + rules, `plan: must be a map with fields such as "from:", and is text`},
		{"{plan: {from: ip}, plans: {}" + rules, "plan.from: ip does not tell callers apart: use a claim such as jwt.plan, apikey or stage"},
		{"{plan: {from: route}, plans: {}" + rules, "plan.from: route does not tell callers apart: use a claim such as jwt.plan, apikey or stage"},
		{"{plan: {from: query.plan}, plans: {}" + rules, "plan.from: query.plan can be set by any client: use a claim such as jwt.plan, apikey or stage"},
		{"{plan: {from: method}, plans: {}" + rules, "plan.from: method can be set by any client: use a claim such as jwt.plan, apikey or stage"},
		{"{plan: {overrides: 'u:{header.x}'}" + rules, "plan.overrides: the client sets {header.x}, and could take another's plan: use sources such as {jwt.sub} or {apikey}"},
		{"{plan: {from: jwt.p}, plans: {pro: {ap: 10}}" + rules, `plans.pro.ap: there is no rule "ap": did you mean api?`},
		{"{plan: {from: jwt.p}, plans: {pro: {web: 10}}" + rules, `plans.pro.web: there is no rule "web": the rules are api, journal, broken`},
		{"{plan: {from: jwt.p}, plans: {pro: {api: 4}}" + rules, "plans.pro.api: a request costs 5 here, above the capacity 4, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit"},
		{"{plan: {from: jwt.p}, plans: {pro: {api: {a: 10}}}" + rules, "plans.pro.api.a: rule api has one limit, without a name: write the capacity alone"},
		{"{plan: {from: jwt.p}, plans: {pro: {journal: 10}}" + rules, "plans.pro.journal: rule journal has several limits: write a capacity for each by name, such as {a: 10}"},
		{"{plan: {from: jwt.p}, plans: {pro: {journal: {a: 1001}}}" + rules, "plans.pro.journal.a: a sliding_window_log keeps every request, and 1000 is the most: lower it, or write algorithm: sliding_window"},
		{"{plan: {from: jwt.p}, plans: {pro: {journal: {c: 1}}}" + rules, `plans.pro.journal.c: rule journal has no limit "c": there are a and b`},
		{"{plan: {from: jwt.p}, plans: {pro: {journal: {b: unlimited}}}" + rules, "plans.pro.journal.b: one limit of a rule cannot be unlimited by itself: write a capacity that no key reaches"},
		{"{plan: {from: jwt.p}, plans: {pro: {api: 10, api: 20}}" + rules, "plans.pro.api: is there twice, first in line 1: remove one of them"},
		{"{plan: {from: jwt.p}, plans: {pro: {api: 10}, pro: {}}" + rules, "plans.pro: is there twice, first in line 1: remove one of them"},
		{"{plan: {from: jwt.p}, plans: {pro: {api: limited}}" + rules, `plans.pro.api: unknown value "limited": did you mean unlimited?`},
		{"{plan: {from: jwt.p}, plans: {pro: {api: true}}" + rules, "plans.pro.api: must be a whole number in plain digits without quotes, such as 10"},
		{"{plan: {from: jwt.p}, plans: {é: {api: 10}}" + rules, `plans.é: "é" cannot be a plan: use 1 to 63 printable ASCII characters, no blank at either end`},
		// Plans of a rule that is wrong itself are not checked.
		{"{plan: {from: jwt.p}, plans: {pro: {broken: {x: 1}}}" + strings.Replace(rules, "broken, key: k, cost: 5", "broken, key: k, cost: 101", 1),
			"rules[2].cost: 101 is above the capacity 100 of rules[2].limits[0], so no request would ever be allowed: lower the cost, raise the capacity, or write over: clamp in the limit"},
	} {
		_, err := read(t, "f", tt.document)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%.70s: %v", tt.document, err)
		case tt.want != "" && (err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": "+tt.want)):
			t.Errorf("%.70s:\ngot  %v\nwant %s", tt.document, err, tt.want)
		}
	}
}
