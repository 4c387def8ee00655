package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

func TestExplain(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", "")
	business := " --at 2026-11-22T10:00:00Z --rules testdata/business.yaml"
	golden(t, "explain", transcript(t.Context(), "",
		"explain POST /login --ip 203.0.113.9 --at 2026-11-22T10:00:00Z --rules testdata/rules.yaml",
		"explain GET /health --rules testdata/rules.yaml",
		"explain GET /health/ --ip 2001:db8::1 --rules testdata/rules.yaml",
		"explain POST '/v1/chat?debug=1' --ip 10.0.0.1 -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Tokens: 900' --claim sub=241531 --claim plan=pro --claim tenant=acme"+business,
		"explain POST '/v1/chat?debug=1' --ip 10.0.0.1 -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Tokens: 900' --claim sub=241531 --claim plan=pro --claim tenant=acme --json"+business,
		"explain POST /v1/chat --claims '{\"sub\": \"auth0|666\", \"tenant\": \"slow\", \"plan\": [\"pro\"]}'"+business,
		"explain GET /v1/export --claim sub=777 --claim tenant=t --claim billing_day=15"+business,
		"explain GET /v1/export --claim sub=777 --at 2027-01-01T00:00:00Z --rules testdata/business.yaml",
		"explain GET /v1/Hooks/x --claim tenant=probe"+business,
		"explain GET /v1/search --route '/v1/{partner}' --apikey k-17 --claim plan=gold"+business,
		"explain GET /v2 --claim sub=778"+business,
		"explain GET /v2 --rejected"+business,
		"explain GET /v2 --rejected --json"+business,
		"explain GET /v2 --ip 10.0.0.1 -H x-forwarded-for:198.51.100.7"+business,
		"explain GET /%1b%5b31m -H 'x: y' --claim sub=1"+business,
		"explain GET /%C3%A9%c2%9b31m -H 'x: y' --claim sub=1"+business,
		"explain POST /v1/chat --claim sub=1 --claim tenant=t --rules testdata/costly.yaml",
		"explain GET / --rules testdata/secret.yaml",
	))
}

// TestExplainAgreesWithTheEngine has the words of explain, for requests and counters of all kinds, say what the engine then
// does.
func TestExplainAgreesWithTheEngine(t *testing.T) {
	document, err := os.ReadFile("testdata/business.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		set, err := rulefile.Parse("business.yaml", document)
		if err != nil {
			t.Fatal(err)
		}
		now, store := time.Unix(1_800_000_000, 0), memory.New(0)
		decide := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: store, Recorder: silent{}})
		for range rapid.SampledFrom([]int{0, 1, 3, 12}).Draw(t, "earlier") {
			req := drawRequest(t)
			if _, err := decide.Decide(context.Background(), now, &req); err != nil {
				t.Fatal(err)
			}
		}
		asked := drawRequest(t)
		told := explained(t, set, store, asked, now)
		d, err := decide.Decide(context.Background(), now, &asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := told.Outcome; got.Allowed != d.Allowed || got.Reason != reasons[d.Reason] || (got.Why == "") != (d.Reason == engine.Limited) {
			t.Errorf("explained as %+v, and decided %+v", got, d)
		}
		if told.Client != asked.IP.String() { // which the engine has read
			t.Errorf("the client is %v; explained as %s", asked.IP, told.Client)
		}
		wantVerdicts(t, told, d)
	})
}

func explained(t *rapid.T, set *rules.Set, store peeker, req rules.Request, now time.Time) *explanation {
	x := explainer{set, &said{set: set, now: now}, &peeked{of: store, found: map[string]limit.Verdict{}}}
	told, err := x.explain(context.Background(), &req)
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// wantVerdicts compares what was said of each rule with what it did.
func wantVerdicts(t *rapid.T, told *explanation, d *engine.Decision) {
	for _, v := range append(d.Verdicts, d.Shadows...) {
		var found *ruleSeen
		for i := range told.Rules {
			if told.Rules[i].Rule == v.Rule.Name {
				found = &told.Rules[i]
			}
		}
		if found == nil || !found.Covers || found.Key != v.Key {
			t.Errorf("rule %s counted it by %s; explained as %+v", v.Rule.Name, v.Key, found)
			continue
		}
		if d.Reason == engine.Limited && (found.Verdict == "allowed") != v.Allowed {
			t.Errorf("rule %s allowed it: %t; explained as %s", v.Rule.Name, v.Allowed, found.Verdict)
		}
		if v.Terms.Denied {
			continue
		}
		if want := v.Rule.Item(v.Key, &v.Terms); found.Counter != want || len(found.Limits) != len(v.Terms.Limits) {
			t.Errorf("rule %s counted it in %s by %d limits; explained as %+v", v.Rule.Name, want, len(v.Terms.Limits), found)
			continue
		}
		for i, l := range found.Limits {
			candidate, _ := v.Terms.Candidate(i)
			if l.Capacity != v.Terms.Limits[i].Capacity || l.Cost != v.Terms.Costs[i] || l.Candidate != candidate {
				t.Errorf("rule %s: limit %+v, cost %d; explained as %+v", v.Rule.Name, v.Terms.Limits[i], v.Terms.Costs[i], l)
			}
			if !v.Allowed && l.Remaining != v.Limits[i].Remaining {
				t.Errorf("rule %s has %d left; explained as %d", v.Rule.Name, v.Limits[i].Remaining, l.Remaining)
			}
		}
	}
	if !d.Allowed && d.Reason == engine.Limited && told.Outcome.By == "" {
		t.Errorf("denied, and nobody is named: %+v", told.Outcome)
	}
}

func drawRequest(t *rapid.T) rules.Request {
	pick := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(t, what) }
	r := rules.Request{
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
	if sub := pick("sub", "", "7", "777", "778", "auth0|666", "241531"); sub != "" {
		r.Claims = map[string]any{"sub": sub, "plan": pick("plan", "", "pro", "enterprise"), "tenant": pick("tenant", "acme", "probe", "slow", "t")}
	}
	r.Rejected = rapid.IntRange(0, 9).Draw(t, "rejected") == 0
	return r
}

func TestRequestOfFlags(t *testing.T) {
	for _, tc := range []struct {
		args string // METHOD PATH and flags
		want rules.Request
		err  string
	}{
		{args: "GET /", want: rules.Request{Method: "GET", Path: "/"}},
		{args: "get /a%2Fb?x=1&x=%202", want: rules.Request{Method: "get", Path: "/a%2Fb", Query: map[string][]string{"x": {"1", " 2"}}}},
		{args: "GET / --ip ::ffff:203.0.113.9 --stage prod --apikey k-1", want: rules.Request{
			Method: "GET", Path: "/", IP: netip.MustParseAddr("::ffff:203.0.113.9"), Stage: "prod", APIKey: "k-1"}},
		{args: "GET / -H 'X-A: 1' -H x-a:2 -H 'B:'", want: rules.Request{
			Method: "GET", Path: "/", Headers: map[string][]string{"X-A": {"1"}, "x-a": {"2"}, "B": {""}}}},
		{args: "GET / --claim a=1=2 --claim b=", want: rules.Request{Method: "GET", Path: "/", Claims: map[string]any{"a": "1=2", "b": ""}}},
		{args: "GET / --claims '{\"n\": 12345678901234567890, \"o\": {\"id\": true}}' --claim n=7", want: rules.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": "7", "o": map[string]any{"id": true}}}},
		{args: "GET / --claims '{\"n\": 12345678901234567890}'", want: rules.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": json.Number("12345678901234567890")}}},
		{args: "GET / --claims {}", want: rules.Request{Method: "GET", Path: "/", Claims: map[string]any{}}},
		{args: "GET / --rejected", want: rules.Request{Method: "GET", Path: "/", Rejected: true}},
		{args: "GET / --route $default", want: rules.Request{Method: "GET", Path: "/", Route: "$default"}},
		{args: "GET /users/a%20b --route 'GET /users/{id}'", want: rules.Request{
			Method: "GET", Path: "/users/a%20b", Route: "GET /users/{id}", PathParams: map[string]string{"id": "a b"}}},
		{args: "GET /f/a/b/c --route '/f/{dir}/{rest+}'", want: rules.Request{
			Method: "GET", Path: "/f/a/b/c", Route: "/f/{dir}/{rest+}", PathParams: map[string]string{"dir": "a", "rest": "b/c"}}},

		{args: "GET x", err: "is no path"},
		{args: "GET http://h/x", err: "is no path"},
		{args: "GET /?%zz", err: "the query of"},
		{args: "'G T' /", err: "is no method"},
		{args: "GET / --ip localhost", err: "--ip localhost"},
		{args: "GET / -H x", err: "want 'NAME: VALUE'"},
		{args: "GET / -H ':x'", err: "want 'NAME: VALUE'"},
		{args: "GET / -H 'a b: x'", err: "want 'NAME: VALUE'"},
		{args: "GET / --claim x", err: "want NAME=VALUE"},
		{args: "GET / --claim =x", err: "want NAME=VALUE"},
		{args: "GET / --claim /a/b=x", err: "is given by --claims"},
		{args: "GET / --claims []", err: "want a JSON object"},
		{args: "GET / --claims null", err: "want a JSON object"},
		{args: "GET / --claims {}{}", err: "something follows"},
		{args: "GET / --rejected --apikey k", err: "say nothing"},
		{args: "GET /users --route '/users/{id}'", err: "too short"},
		{args: "GET /users/7/x --route '/users/{id}'", err: "too long"},
		{args: "GET /u/7 --route '/users/{id}'", err: "has u where the template has users"},
		{args: "GET /users/%zz --route '/users/{id}'", err: "invalid URL escape"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var f explainFlags
			cmd := (&cli{}).explainCommand()
			cmd.ResetFlags()
			f.requestFlags.add(cmd)
			if err := cmd.ParseFlags(words(tc.args)); err != nil {
				t.Fatal(err)
			}
			args := cmd.Flags().Args()
			got, err := f.request(cmd, args[0], args[1])
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainly(tc.want), plainly(*got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// plainly is a request as JSON, in which what is empty is not there.
func plainly(r rules.Request) map[string]any {
	text, _ := json.Marshal(&r)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var fields map[string]any
	_ = d.Decode(&fields)
	for name, value := range fields {
		if list, ok := value.(map[string]any); ok && len(list) == 0 && name != "Claims" || value == nil {
			delete(fields, name)
		}
	}
	return fields
}
