package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestExplainAgreesWithTheEngine: for random requests and counters, the report
// matches what the engine then decides.
func TestExplainAgreesWithTheEngine(t *testing.T) {
	document, err := os.ReadFile("../cli/testdata/business.yaml")
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(document), "  - {methods: [OPTIONS]}\n", "", 1) // so that other things decide preflights
	counting := strings.Replace(without, "{caller: anonymous}", "{methods: [OPTIONS, GET]}", 1)
	banning := strings.Replace(without, "{caller: anonymous}", "{route: /v1/**}", 1) + "  anonymous: {\"ip:192.0.2.1\": {deny: true}}\n"
	rapid.Check(t, func(t *rapid.T) {
		set, err := rulefile.Parse("business.yaml", []byte(rapid.SampledFrom([]string{string(document), counting, banning}).Draw(t, "rules")))
		if err != nil {
			t.Fatal(err)
		}
		now, store := time.Unix(1_800_000_000, 0), memory.New(0)
		decide := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: store, Observer: &replay.Failures{}})
		for range rapid.SampledFrom([]int{0, 1, 3, 12}).Draw(t, "earlier") {
			req := drawRequest(t)
			if _, err := decide.Decide(context.Background(), now, &req); err != nil {
				t.Fatal(err)
			}
		}
		req := drawRequest(t)
		report := explained(t, set, store, req, now)
		d, err := decide.Decide(context.Background(), now, &req)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Outcome; got.Allowed != d.Allowed || got.Reason != d.Reason.String() || (got.Why == "") != (d.Reason == engine.Limited) {
			t.Errorf("explained as %+v, and decided %+v", got, d)
		}
		if report.Client != req.IP.String() { // which the engine has resolved
			t.Errorf("the client is %v; explained as %s", req.IP, report.Client)
		}
		wantVerdicts(t, report, d)
	})
}

// TestExplainShadowsAlone: a shadow rule that covers a request decides nothing
// about it, and the report shows what it counts.
func TestExplainShadowsAlone(t *testing.T) {
	for document, want := range map[string]string{
		`{rules: [{name: a, key: all, mode: shadow, limit: 1/day}]}`:                      "no enforced rule covers it, and unmatched is allow",
		`{rules: [{name: a, key: all, mode: "off", limit: 1/day}]}`:                       "no rule covers it, and unmatched is allow",
		`{rules: [{name: a, key: all, mode: shadow, when: {path: /x}, limit: 1/day}]}`:    "no rule covers it, and unmatched is allow",
		`{unmatched: deny, rules: [{name: a, key: all, mode: shadow, limit: 100/month}]}`: "no enforced rule covers it, and unmatched is deny",
	} {
		set, err := rulefile.Parse("rules.yaml", []byte(document))
		if err != nil {
			t.Fatal(err)
		}
		x := newExplainer(NewLookup(set, nil, time.Unix(1_800_000_000, 0)), memory.New(0))
		report, err := x.explain(t.Context(), &request.Request{Method: "GET", Path: "/"})
		if err != nil || report.Outcome.Why != want {
			t.Errorf("%s: %v, %q; want %q", document, err, report.Outcome.Why, want)
		}
	}
}

func explained(t *rapid.T, set *rules.Set, store limit.Store, req request.Request, now time.Time) *ExplainReport {
	report, err := newExplainer(NewLookup(set, nil, now), store).explain(context.Background(), &req)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// wantVerdicts compares the report on each rule with its verdict.
func wantVerdicts(t *rapid.T, report *ExplainReport, d *engine.Decision) {
	for _, v := range append(d.Verdicts, d.Shadows...) {
		var found *RuleVerdict
		for i := range report.Rules {
			if report.Rules[i].Rule == v.Rule.Name {
				found = &report.Rules[i]
			}
		}
		if found == nil || !found.Covers || found.Key != v.Key {
			t.Errorf("rule %s counted it by key %s; explained as %+v", v.Rule.Name, v.Key, found)
			continue
		}
		if d.Reason == engine.Limited && (found.Verdict == "allowed") != v.Allowed {
			t.Errorf("rule %s allowed it: %t; explained as %s", v.Rule.Name, v.Allowed, found.Verdict)
		}
		if v.Terms.Denied {
			continue
		}
		if want := v.Rule.Item(v.Key, v.Terms); found.Counter != want || len(found.Limits) != len(v.Terms.Limits) {
			t.Errorf("rule %s counted it in %s by %d limits; explained as %+v", v.Rule.Name, want, len(v.Terms.Limits), found)
			continue
		}
		for i, l := range found.Limits {
			candidate, _ := v.Terms.Candidate(i)
			if l.Capacity != v.Terms.Limits[i].Capacity || l.Cost != v.Terms.Costs[i] || l.CandidateCapacity != candidate {
				t.Errorf("rule %s: limit %+v, cost %d; explained as %+v", v.Rule.Name, v.Terms.Limits[i], v.Terms.Costs[i], l)
			}
			if !v.Allowed && l.Remaining != v.Limits[i].Remaining {
				t.Errorf("rule %s has %d left; explained as %d", v.Rule.Name, v.Limits[i].Remaining, l.Remaining)
			}
		}
	}
	if d.Reason == engine.Preflight && slices.ContainsFunc(report.Rules, func(r RuleVerdict) bool { return r.Covers }) {
		t.Errorf("no rule counts the preflight; explained as %+v", report.Rules)
	}
	if !d.Allowed && d.Reason == engine.Limited && report.Outcome.By == "" {
		t.Errorf("denied, but the report names no limit: %+v", report.Outcome)
	}
}

func drawRequest(t *rapid.T) request.Request {
	pick := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(t, what) }
	r := request.Request{
		Method: pick("method", "GET", "POST", "OPTIONS"),
		Path:   pick("path", "/v1/chat", "/v1/export", "/v1/hooks/x", "/v1/search", "/health", "/v2"),
		IP:     netip.MustParseAddr(pick("ip", "203.0.113.9", "198.51.100.7")),
		APIKey: pick("apikey", "", "k"),
	}
	r.Headers = map[string][]string{}
	if tokens := pick("tokens", "", "700", "9000", "lots"); tokens != "" {
		r.Headers["x-tokens"] = []string{tokens}
	}
	if forwarded := pick("forwarded", "", "192.0.2.1", "198.51.100.7, 192.0.2.1", "192.0.2.1, 203.0.113.9"); forwarded != "" {
		r.Headers["X-Forwarded-For"] = []string{forwarded}
	}
	if pick("preflight", "", "yes") != "" {
		r.Headers["Origin"], r.Headers["Access-Control-Request-Method"] = []string{"https://a.example"}, []string{"PUT"}
	}
	if sub := pick("sub", "", "7", "777", "778", "auth0|666", "241531"); sub != "" {
		r.Claims = map[string]any{"sub": sub, "plan": pick("plan", "", "pro", "enterprise"), "tenant": pick("tenant", "acme", "probe", "slow", "t")}
	}
	r.Rejected = rapid.IntRange(0, 9).Draw(t, "rejected") == 0
	return r
}

// TestExplainRequired: the report says so if the rules allow a request that
// authentication.required refuses.
func TestExplainRequired(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte("{rules: [], authentication: {api_key: {}, required: [{path: /v1/**}]}, skip: [{path: /v1/b}], deny: [{path: /v1/c}]}"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/v1/a": true, "/v1/b": true, "/v1/c": false, "/a": false} {
		report, err := newExplainer(NewLookup(set, nil, time.Now()), memory.New(0)).explain(t.Context(), &request.Request{Method: "GET", Path: path})
		if err != nil || strings.Contains(report.Remark, "401") != want {
			t.Errorf("%s: remark %q, error %v", path, report.Remark, err)
		}
	}
}

// openGateway opens rules in a file, and returns what that logs.
func openGateway(t *testing.T, document string) (*session.Session, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	s, err := OpenGateway(t.Context(), session.Locations{RulesFile: path}, nil, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	return s, log.String()
}

// TestServeWarnsOfKeys: API keys that the local gateway cannot verify are named
// at its start.
func TestServeWarnsOfKeys(t *testing.T) {
	for authentication, want := range map[string]string{
		"{api_key: {}}":                                       "API keys cannot be verified",
		"{api_key: {from: api_gateway}}":                      "no API keys of API Gateway here",
		"{jwt: [{issuer: 'https://a.example', audience: x}]}": "",
	} {
		if _, got := openGateway(t, "{rules: [], authentication: "+authentication+"}"); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: logged %q, want %q once", authentication, got, want)
		}
	}
}

// TestServeWarnsOfOperations: serve sees no body, and so no GraphQL operation.
func TestServeWarnsOfOperations(t *testing.T) {
	for key, want := range map[string]string{"{graphql.name}": "rule r reads {graphql.name}", "all": ""} {
		_, got := openGateway(t, "{rules: [{name: r, key: '"+key+"', limit: 9/minute}]}")
		if !strings.Contains(got, want) || strings.Contains(got, "sees GraphQL operations") != (want != "") {
			t.Errorf("%s: logged %q", key, got)
		}
	}
}

// TestServeCountsAlone: serve is one process unless the rules say how many share
// the load.
func TestServeCountsAlone(t *testing.T) {
	for defaults, want := range map[string]int{"": 1, "defaults: {on_error: local}, ": 1, "defaults: {instances: 20}, ": 20} {
		if s, _ := openGateway(t, "{"+defaults+"rules: []}"); s.Rules.Instances != want {
			t.Errorf("%q: counts as one of %d processes, want %d", defaults, s.Rules.Instances, want)
		}
	}
}

// TestListShares: the line at the start has the shares of rules that count locally
// while the store is away, ten rules at most.
func TestListShares(t *testing.T) {
	document := "rules:\n  - {name: open, key: all, on_error: allow, limit: 9/minute}\n  - {name: off, mode: off, key: k, limit: 9/minute}\n"
	for i := range 12 {
		document += fmt.Sprintf("  - {name: r%d, key: \"%[1]d\", limits: [9/minute, 80/hour]}\n", i)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s := &session.Session{Rules: set, Locations: session.Locations{CountersTable: "counters"}}
	got := ListShares(s)
	if len(got) != 11 || got[0] != "r0: 4 per 1h, 1 per 1m" || got[10] != "2 more rules" {
		t.Errorf("listed %q", got)
	}
	if got := ListShares(&session.Session{Rules: set}); got != nil {
		t.Errorf("in memory, which does not fail: %q", got)
	}
}
