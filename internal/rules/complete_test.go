package rules

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// completeRules returns the rules of testdata/complete.yaml, which state every kind of
// thing that a document can state.
func completeRules(t *testing.T) *Set {
	t.Helper()
	text, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// user is a request of a known caller.
func user(method, path string, claims map[string]any) *request.Request {
	return &request.Request{Method: method, Path: path, IP: netip.MustParseAddr("203.0.113.9"), Claims: claims}
}

type claimSet = map[string]any

func TestCompleteMatches(t *testing.T) {
	s := completeRules(t)
	for _, tt := range []struct {
		name string
		req  *request.Request
		want string
	}{
		{"anonymous", user("GET", "/v1/items", nil), "anonymous"},
		{"known", user("GET", "/v1/items", claimSet{"sub": "ann"}), "api"},
		{"by API key", &request.Request{Method: "GET", Path: "/v1/items", APIKey: "k1"}, "api"},
		{"rejected", &request.Request{Method: "GET", Path: "/v1/items", Rejected: true, Claims: claimSet{"sub": "ann"}}, ""},
		{"left out", user("POST", "/v1/hooks/github", claimSet{"sub": "ann"}), ""},
		{"left out, in other letter case", user("POST", "/v1/Hooks/github", claimSet{"sub": "ann"}), "api"},
		{"chat", user("POST", "/v1/chat", claimSet{"sub": "ann"}), "api chat"},
		{"export", user("GET", "/v1/export", claimSet{"sub": "ann"}), "api export"},
		{"elsewhere", user("GET", "/", claimSet{"sub": "ann"}), ""},
	} {
		var got []string
		for _, r := range s.Match(nil, tt.req) {
			got = append(got, r.Name)
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: rules %q, want %q", tt.name, got, tt.want)
		}
	}
	banned, preflight, health := user("GET", "/", nil), user("OPTIONS", "/v1//x", nil), user("GET", "/health", nil)
	banned.IP = netip.MustParseAddr("198.51.100.7")
	if !s.Banned(banned) || s.Banned(preflight) || !s.Skipped(preflight) || !s.Skipped(health) || s.Skipped(user("POST", "/health", nil)) {
		t.Error("deny and skip are not as written")
	}
}

// The limits of the example's rules depend on plan, override, anchor and time.
func TestCompleteTerms(t *testing.T) {
	s := completeRules(t)
	early, late := time.Date(2026, 12, 30, 23, 59, 59, 0, time.UTC), time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		rule   string
		claims claimSet
		tokens string // the header
		now    time.Time
		want   string
	}{
		{"no plan", "api", claimSet{"tenant": "t", "sub": "ann"}, "", early, "100/1m0s cost 1, candidate 80"},
		{"a plan that is not known", "api", claimSet{"tenant": "t", "sub": "ann", "plan": "gold"}, "", early, "100/1m0s cost 1, candidate 80"},
		{"pro", "api", claimSet{"tenant": "t", "sub": "ann", "plan": "pro"}, "", early, "6000/1m0s cost 1, candidate 4800"},
		{"enterprise", "api", claimSet{"tenant": "t", "sub": "ann", "plan": "enterprise"}, "", early, "unlimited"},
		{"pro by override", "api", claimSet{"tenant": "t", "sub": "777"}, "", early, "6000/1m0s cost 1, candidate 4800"},
		{"until it ends", "api", claimSet{"tenant": "t", "sub": "777"}, "", late, "100/1m0s cost 1, candidate 80"},
		{"override of the tenant", "api", claimSet{"tenant": "acme", "sub": "ann", "plan": "pro"}, "", early, "20000/1m0s cost 1, candidate 16000"},
		{"override of the tenant's user", "api", claimSet{"tenant": "acme", "sub": "777"}, "", early, "20000/1m0s cost 1, candidate 16000"},
		{"unlimited", "api", claimSet{"tenant": "probe", "sub": "ann"}, "", early, "unlimited"},
		{"limited after all", "api", claimSet{"tenant": "acme", "sub": "ann", "plan": "enterprise"}, "", early, "20000/1m0s cost 1, candidate 16000"},
		{"other limits", "api", claimSet{"tenant": "slow", "sub": "ann"}, "", early, "5/1s cost 1"},

		{"tokens stated", "chat", claimSet{"sub": "ann"}, "700", early, "requests 10/1m0s cost 1, tokens 4000/1m0s cost 700"},
		{"a false count", "chat", claimSet{"sub": "ann"}, "1", early, "requests 10/1m0s cost 1, tokens 4000/1m0s cost 500"},
		{"tokens not stated", "chat", claimSet{"sub": "ann"}, "", early, "requests 10/1m0s cost 1, tokens 4000/1m0s cost 4000"},
		{"garbled", "chat", claimSet{"sub": "ann", "plan": "pro"}, "7e2", early, "requests 60/1m0s cost 1, tokens 90000/1m0s cost 8000"},
		{"tokens of one user", "chat", claimSet{"sub": "241531"}, "700", early, "requests 10/1m0s cost 1, tokens 200000/1m0s cost 700"},
		{"on a plan", "chat", claimSet{"sub": "241531", "plan": "pro"}, "700", early, "requests 60/1m0s cost 1, tokens 200000/1m0s cost 700"},
		{"denied", "chat", claimSet{"sub": "auth0|666"}, "", early, "denied: ticket 81"},

		{"no anchor", "export", claimSet{"tenant": "t"}, "", early, "hour 3/1h0m0s cost 1, month 100/720h0m0s from day 1 cost 1"},
		{"anchor", "export", claimSet{"tenant": "t", "billing_day": json.Number("15")}, "", early, "hour 3/1h0m0s cost 1, month 100/720h0m0s from day 15 cost 1"},
		{"a day that few months have", "export", claimSet{"tenant": "t", "billing_day": "31"}, "", early, "hour 3/1h0m0s cost 1, month 100/720h0m0s from day 31 cost 1"},
		{"no such day", "export", claimSet{"tenant": "t", "billing_day": "32"}, "", early, "hour 3/1h0m0s cost 1, month 100/720h0m0s from day 1 cost 1"},
	} {
		req := user("POST", "/v1/chat", tt.claims)
		if tt.tokens != "" {
			req.Headers = map[string][]string{"X-Tokens": {tt.tokens}}
		}
		if got := describe(t, s, tt.rule, req, tt.now); got != tt.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", tt.rule, tt.name, got, tt.want)
		}
	}
}

// describe writes the limits of a rule for a request and the document's overrides.
func describe(t *testing.T, s *Set, rule string, req *request.Request, now time.Time) string {
	t.Helper()
	r, ok := s.Rule(rule)
	if !ok {
		t.Fatalf("no rule %s", rule)
	}
	var planOverride, o *Override
	if key, ok := s.AppendPlanKey(nil, req); ok {
		planOverride = s.Override(PlanOverrides, string(key))
	}
	plan, _, _ := s.ResolvePlan(req, planOverride, planOverride.InForce(now))
	if key, ok := r.AppendOverrideKey(nil, req); ok {
		o = s.Override(rule, string(key))
	}
	terms := r.Terms(req, plan, o, now)
	switch {
	case terms.Stale:
		return "stale"
	case terms.Denied:
		return "denied: " + terms.Why
	case terms.Unlimited:
		return "unlimited"
	}
	if err := (&limit.Charge{Key: "k", Limits: terms.Limits, Costs: terms.Costs}).Check(); err != nil {
		t.Error(err)
	}
	if compiled := o == nil && rule == "api"; compiled != terms.Checked {
		t.Errorf("the terms are compiled %t, and checked %t", compiled, terms.Checked)
	}
	return describeTerms(terms)
}

func describeTerms(t *Terms) string {
	var limits []string
	for i, l := range t.Limits {
		text := strings.TrimSpace(fmt.Sprintf("%s %d/%s", l.Name, l.Capacity, l.Window))
		if l.Calendar != nil && l.Calendar.Anchor > 0 {
			text += fmt.Sprintf(" from day %d", l.Calendar.Anchor)
		}
		text += fmt.Sprintf(" cost %d", t.Costs[i])
		if candidate, ok := t.Candidate(i); ok {
			text += fmt.Sprintf(", candidate %d", candidate)
		}
		limits = append(limits, text)
	}
	return strings.Join(limits, ", ")
}

// One key of the example must be escaped. Plans and overrides share counters, other
// anchors do not.
func TestCompleteKeys(t *testing.T) {
	s := completeRules(t)
	if o := s.Override("chat", "user:auth0%7C666"); o == nil || !o.Deny {
		t.Errorf("user:auth0|666 is not found by the key that its requests have: %+v", o)
	}
	export, _ := s.Rule("export")
	day := func(day any) string {
		terms := export.Terms(user("GET", "/v1/export", claimSet{"billing_day": day}), "", nil, time.Time{})
		return export.Item("k", terms)
	}
	if day(nil) != day(1.0) || day(nil) != day("1") || day(nil) == day("2") {
		t.Error("counters whose months start on different days are the same")
	}
	api, _ := s.Rule("api")
	own, pro := api.Terms(&request.Request{}, "", nil, time.Time{}), api.Terms(&request.Request{}, "pro", nil, time.Time{})
	if api.Item("k", own) != api.Item("k", pro) {
		t.Error("a change of plan starts a new counter")
	}
	if !Among(export.RefundOn(), 503) || Among(export.RefundOn(), 404) || export.Mode != Shadow {
		t.Error("export is not as written")
	}
}
