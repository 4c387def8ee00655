package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/limittest"
)

// moment is half a second into a slot.
var moment = time.Unix(1_700_000_040, 500_000_000)

func mustGate(t testing.TB, rules gate.RuleSource, options ...gate.Option) *gate.Gate {
	t.Helper()
	g, err := gate.New(rules, append([]gate.Option{slidegate.WithClock(func() time.Time { return moment })}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// broken returns a store that does not answer.
func broken() slidegate.Store {
	return limittest.NewStore(limittest.Fail(errors.New("connection refused")))
}

func perMinute(n int64) []slidegate.Limit {
	return []slidegate.Limit{slidegate.SlidingWindow(n, time.Minute)}
}

// request returns a request by an anonymous client, "METHOD /path".
func request(line string) *gate.Request {
	method, path, _ := strings.Cut(line, " ")
	return &gate.Request{Method: method, Path: path, IP: netip.MustParseAddr("192.0.2.1")}
}

func mustDecide(t *testing.T, g *gate.Gate, r *gate.Request) *gate.Decision {
	t.Helper()
	d, err := g.Decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestMatch: each field of a Match selects requests by one of its values, and
// the fields together by all of them.
func TestMatch(t *testing.T) {
	route := request("GET /users/7")
	route.Route = "/users/{id}"
	pro := request("GET /")
	pro.Claims = map[string]any{"plan": "pro", "org": map[string]any{"id": "acme"}}
	rejected := request("GET /")
	rejected.Rejected = true
	keyed := request("GET /")
	keyed.APIKey = "k1"
	elsewhere := request("GET /")
	elsewhere.IP = netip.MustParseAddr("2001:db8::1")
	for i, test := range []struct {
		match   gate.Match
		matches []*gate.Request
		not     []*gate.Request
	}{
		{gate.Match{Methods: []string{"post", "PUT"}}, []*gate.Request{request("POST /"), request("PUT /")}, []*gate.Request{request("GET /")}},
		{gate.Match{Paths: []string{"/a/*", "/b/**"}}, []*gate.Request{request("GET /a/1"), request("GET /b/1/2")}, []*gate.Request{request("GET /a/1/2"), request("GET /")}},
		{gate.Match{Routes: []string{"/users/{id}"}}, []*gate.Request{route}, []*gate.Request{request("GET /users")}},
		{gate.Match{CIDRs: []string{"192.0.2.0/24"}}, []*gate.Request{request("GET /")}, []*gate.Request{elsewhere}},
		{gate.Match{Callers: []string{"anonymous"}}, []*gate.Request{request("GET /")}, []*gate.Request{pro, rejected, keyed}},
		{gate.Match{Callers: []string{"known"}}, []*gate.Request{pro, keyed}, []*gate.Request{request("GET /"), rejected}},
		{gate.Match{Callers: []string{"rejected"}}, []*gate.Request{rejected}, []*gate.Request{pro}},
		{gate.Match{Claims: map[string][]string{"jwt.plan": {"team", "pro"}}}, []*gate.Request{pro}, []*gate.Request{request("GET /")}},
		{gate.Match{Claims: map[string][]string{"jwt./org/id": {"acme"}}}, []*gate.Request{pro}, []*gate.Request{request("GET /")}},
		{gate.Match{Methods: []string{"GET"}, Paths: []string{"/a"}}, []*gate.Request{request("GET /a")}, []*gate.Request{request("POST /a"), request("GET /b")}},
	} {
		rule := gate.Rule{Name: "rule", Key: "all", Limits: perMinute(100)}
		when := rule
		when.When = test.match
		unless := rule
		unless.Unless = test.match
		sets := map[string]gate.Rules{
			"When": {Rules: []gate.Rule{when}}, "Unless": {Rules: []gate.Rule{unless}},
			"Deny": {Deny: []gate.Match{test.match}, Rules: []gate.Rule{rule}}, "Skip": {Skip: []gate.Match{test.match}, Rules: []gate.Rule{rule}},
		}
		want := map[string][2]slidegate.Reason{ // of requests that match, and of others
			"When": {"limited", "unmatched"}, "Unless": {"unmatched", "limited"}, "Deny": {"banned", "limited"}, "Skip": {"skipped", "limited"},
		}
		for field, set := range sets {
			g := mustGate(t, set)
			for j, requests := range [][]*gate.Request{test.matches, test.not} {
				for _, r := range requests {
					if d := mustDecide(t, g, r); d.Reason != want[field][j] || d.Allowed != (d.Reason != "banned") {
						t.Errorf("match %d as %s: %s %s is %s (%+v), want %s", i, field, r.Method, r.Path, d.Reason, d, want[field][j])
					}
				}
			}
		}
	}
}

// TestRuleFields: what each field of a rule does to a sequence of requests. A
// letter is a request by that client; upper case denies it.
func TestRuleFields(t *testing.T) {
	rule := func(change func(*gate.Rule)) gate.Rules {
		r := gate.Rule{Name: "rule", Key: "user:{header.x-user}", Limits: perMinute(4)}
		change(&r)
		return gate.Rules{Rules: []gate.Rule{r}}
	}
	for name, test := range map[string]struct {
		rules gate.Rules
		want  string
	}{
		"Key":           {rule(func(*gate.Rule) {}), "aaabaA"},
		"a shared key":  {rule(func(r *gate.Rule) { r.Key = "all" }), "aabbAB"},
		"Cost":          {rule(func(r *gate.Rule) { r.Cost = 2 }), "aaAb"},
		"no Limits but": {rule(func(r *gate.Rule) { r.Limits = append(perMinute(9), slidegate.PerDay(2, time.UTC)) }), "aaA"},
		"Shadow":        {rule(func(r *gate.Rule) { r.Shadow = true }), "aaaaaaaa"},
		"DenyUnmatched": {gate.Rules{DenyUnmatched: true, Rules: []gate.Rule{
			{Name: "rule", When: gate.Match{Methods: []string{"PUT"}}, Key: "all", Limits: perMinute(9)},
		}}, "A"},
		"two rules": {gate.Rules{Rules: []gate.Rule{
			{Name: "each", Key: "user:{header.x-user}", Limits: perMinute(2)}, {Name: "all", Key: "all", Limits: perMinute(3)},
		}}, "aaAbB"},
		"Atomic": {gate.Rules{Rules: []gate.Rule{ // a denial of the second takes nothing from the first, although a bucket cannot refund
			{Name: "each", Key: "user:{header.x-user}", Atomic: true, Limits: []slidegate.Limit{slidegate.TokenBucket(1, time.Hour, 2)}},
			{Name: "all", Key: "all", Atomic: true, Cost: 3, Limits: perMinute(4)},
		}}, "aAB"},
	} {
		g := mustGate(t, test.rules)
		got := ""
		for _, user := range strings.ToLower(test.want) {
			r := request("GET /")
			r.Headers = map[string][]string{"x-USER": {string(user)}}
			if letter := string(user); mustDecide(t, g, r).Allowed {
				got += letter
			} else {
				got += strings.ToUpper(letter)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestTrustedProxies: the address that rules see. The request stays as it is.
func TestTrustedProxies(t *testing.T) {
	for proxies, want := range []string{"ip:192.0.2.1", "ip:198.51.100.7", "ip:203.0.113.9"} {
		g := mustGate(t, gate.Rules{TrustedProxies: proxies, Rules: []gate.Rule{{Name: "rule", Key: "ip:{ip}", Limits: perMinute(9)}}})
		r := request("GET /")
		r.Headers = map[string][]string{"X-Forwarded-For": {"203.0.113.9, 198.51.100.7"}}
		for left := range 2 {
			if d := mustDecide(t, g, r); d.Key != want || d.Remaining != int64(8-left) || r.IP != request("").IP || len(r.Headers) != 1 {
				t.Errorf("%d proxies: decided %+v, and left %+v; want %s", proxies, d, r, want)
			}
		}
	}
}

// TestFinish: the charge of an allowed request is corrected by its answer.
func TestFinish(t *testing.T) {
	var log strings.Builder
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "rule", Key: "all", RefundOn: []string{"404", "5xx"}, Limits: perMinute(9)}}},
		slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for i, test := range []struct {
		status int
		left   int64
	}{{404, 8}, {200, 8}, {503, 7}, {0, 7}, {404, 6}, {201, 6}} {
		d := mustDecide(t, g, request("GET /"))
		if d.Remaining != test.left {
			t.Errorf("request %d: %d left, want %d", i, d.Remaining, test.left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.Finish(ctx, d, gate.Outcome{Status: test.status})
		g.Finish(ctx, d, gate.Outcome{Status: 404}) // only the first call counts
	}
	d := mustDecide(t, g, request("GET /"))
	g.Finish(t.Context(), d, gate.Outcome{Costs: map[string]int64{"rule.tokens": 5}})
	if !strings.Contains(log.String(), "rule.tokens") {
		t.Errorf("a cost without a limit is not logged: %s", &log)
	}
}

// TestFinishOnce: of concurrent calls for a decision one counts, so that no unit
// is refunded twice.
func TestFinishOnce(t *testing.T) {
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "rule", Key: "all", RefundOn: []string{"404"}, Limits: perMinute(9)}}})
	mustDecide(t, g, request("GET /"))
	d := mustDecide(t, g, request("GET /"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { g.Finish(t.Context(), d, gate.Outcome{Status: 404}) })
	}
	wg.Wait()
	if d := mustDecide(t, g, request("GET /")); d.Remaining != 7 {
		t.Errorf("%d left", d.Remaining)
	}
}

// TestClaimTypes: claims may have the types that programs have at hand.
func TestClaimTypes(t *testing.T) {
	type userID string
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{
		{Name: "admin", When: gate.Match{Claims: map[string][]string{"jwt.roles": {"admin"}}}, Key: "admin:{jwt.sub}", Limits: perMinute(1)},
		{Name: "user", Unless: gate.Match{Claims: map[string][]string{"jwt.roles": {"admin"}}}, Key: "user:{jwt.sub}", Limits: perMinute(99)},
	}})
	for _, test := range []struct {
		sub, roles any
		want       string
	}{
		{"7", nil, "user:7"}, {7, nil, "user:7"}, {int64(-7), nil, "user:-7"}, {uint64(1 << 63), nil, "user:9223372036854775808"},
		{userID("ada"), nil, "user:ada"}, {json.Number("7"), nil, "user:7"}, {7.0, nil, "user:7"},
		{nil, nil, "user:-"}, {[2]byte{1, 2}, nil, "user:-"},
		{"7", []string{"dev", "admin"}, "admin:7"}, {"8", []any{"dev", "admin"}, "admin:8"}, {"9", []string{"dev"}, "user:9"},
	} {
		r := request("GET /")
		r.Claims = map[string]any{"sub": test.sub, "roles": test.roles}
		if d := mustDecide(t, g, r); d.Key != test.want {
			t.Errorf("sub %T %v, roles %v: counts by %s, want %s", test.sub, test.sub, test.roles, d.Key, test.want)
		}
	}
}

// TestGateEvents: what an observer gets of a gate.
func TestGateEvents(t *testing.T) {
	var events []string
	observe := slidegate.WithObserver(func(_ context.Context, e slidegate.Event) {
		text := fmt.Sprintf("%s %s %s allowed=%t left=%d", e.Rule, e.Key, e.Reason, e.Result.Allowed, e.Result.Remaining)
		if e.Shadow {
			text += " shadow"
		}
		if e.Err != nil {
			text = fmt.Sprintf("%s %s %s: %v", e.Rule, e.Key, e.Action, e.Err)
		}
		if !e.Time.Equal(moment) {
			t.Errorf("%s happened at %v", text, e.Time)
		}
		events = append(events, text)
	})
	set := gate.Rules{
		Deny: []gate.Match{{Paths: []string{"/banned"}}}, Skip: []gate.Match{{Paths: []string{"/health"}}},
		Rules: []gate.Rule{
			{Name: "trial", Key: "all", Shadow: true, Limits: perMinute(1)},
			{Name: "each", When: gate.Match{Paths: []string{"/a"}}, Key: "ip:{ip}", Limits: perMinute(2)},
			{Name: "all", When: gate.Match{Paths: []string{"/a"}}, Key: "all", Limits: perMinute(9)},
		},
	}
	quiet := slidegate.WithLogger(slog.New(slog.DiscardHandler))
	g := mustGate(t, set, observe, quiet)
	down := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "each", Key: "all", OnError: slidegate.FailOpen(), Limits: perMinute(2)}}},
		observe, quiet, slidegate.WithStore(broken()))
	for _, step := range []struct {
		gate *gate.Gate
		path string
		want []string
	}{
		{g, "/a", []string{"each ip:192.0.2.1 limited allowed=true left=1", "all all limited allowed=true left=8", "trial all limited allowed=true left=0 shadow"}},
		{g, "/a", []string{"each ip:192.0.2.1 limited allowed=true left=0", "all all limited allowed=true left=7", "trial all limited allowed=false left=0 shadow"}},
		{g, "/a", []string{"each ip:192.0.2.1 limited allowed=false left=0"}},
		{g, "/b", []string{"trial all limited allowed=false left=0 shadow", "  unmatched allowed=true left=0"}},
		{g, "/banned", []string{"  banned allowed=false left=0"}},
		{g, "/health", []string{"  skipped allowed=true left=0"}},
		{down, "/", []string{"each all on_error: allow: connection refused", "each all limited allowed=true left=0"}},
	} {
		events = nil
		mustDecide(t, step.gate, request("GET "+step.path))
		if !slices.Equal(events, step.want) {
			t.Errorf("%s: events\n%s\nwant\n%s", step.path, strings.Join(events, "\n"), strings.Join(step.want, "\n"))
		}
	}
	events = nil
	none := mustGate(t, noRules{}, observe)
	if _, err := none.Decide(t.Context(), request("GET /")); !errors.Is(err, errNoRules) || len(events) != 1 || events[0] != "  decide: no rules" {
		t.Errorf("error %v, events %q", err, events)
	}
}

// noRules is a source that has no rules yet.
type noRules struct{}

var errNoRules = errors.New("no rules")

func (s noRules) OpenRules(setup.RuleOptions) (setup.Rules, error) {
	return setup.Rules{RuleSource: s}, nil
}

func (noRules) Rules(context.Context, time.Time) (*rules.Set, error) { return nil, errNoRules }

// TestGateErrors: errors name what is wrong by its place in the Go data, and say
// what to write instead.
func TestGateErrors(t *testing.T) {
	of := func(change func(*gate.Rule)) gate.Rules {
		r := gate.Rule{Name: "a", Key: "ip:{ip}", Limits: perMinute(5)}
		change(&r)
		return gate.Rules{Rules: []gate.Rule{r}}
	}
	for want, test := range map[string]struct {
		rules   gate.Rules
		options []gate.Option
	}{
		`Rules[0].Name: is missing: write one that no other rule has, such as "per-ip"
Rules[0].Key: is missing: write what to count by, such as "ip:{ip}"
Rules[0].Limits: is missing: write one to eight, such as SlidingWindow(100, time.Minute)`: {of(func(r *gate.Rule) { *r = gate.Rule{} }), nil},
		`Rules[0].Key: unknown source {ipp}: did you mean {ip}?`: {of(func(r *gate.Rule) { r.Key = "{ipp}" }), nil},
		`Rules[0].Key: {header.x-user|ip} is not one source, because no source has "|" in it: write a single source; for a fallback write two rules, ` +
			`one with When: Match{Callers: []string{"known"}} and Key: "user:{jwt.sub}", ` +
			`and one with When: Match{Callers: []string{"anonymous"}} and Key: "ip:{ip}"`: {of(func(r *gate.Rule) { r.Key = "user:{header.x-user|ip}" }), nil},
		`Rules[0].Key: unknown source {header.cookie.session}: rules read no cookies: write {jwt.sub} for verified callers, or {header.x-session} if a header holds the value`: {
			of(func(r *gate.Rule) { r.Key = "{header.cookie.session}" }), nil},
		`Rules[0].Cost must be from 0 to 999999999999999`:                              {of(func(r *gate.Rule) { r.Cost = -1 }), nil},
		`Rules[0].When.Paths[1]: pattern "x": a pattern begins with a slash: write /x`: {of(func(r *gate.Rule) { r.When.Paths = []string{"/a", "x"} }), nil},
		`Rules[0].When.Methods: is empty: give a value, or nil`:                        {of(func(r *gate.Rule) { r.When.Methods = []string{} }), nil},
		`Rules[0].When.Claims["plan"]: unknown source plan: there are ip, jwt.NAME, apikey, header.NAME, query.NAME, path.NAME, method, route, stage, country, asn, graphql.type, graphql.name and graphql.fields`: {
			of(func(r *gate.Rule) { r.When.Claims = map[string][]string{"plan": {"pro"}} }), nil},
		`Rules[0].Key: country is what CloudFront says of the client, and Rules cannot trust CloudFront: use a rules file with client_ip`: {
			of(func(r *gate.Rule) { r.Key = "{country}" }), nil},
		`Rules[0].RefundOn[0]: "4x" is no status: write a number such as 404, or a class such as 5xx`: {of(func(r *gate.Rule) { r.RefundOn = []string{"4x"} }), nil},
		`Rules[0].RefundOn: TokenBucket(1, 1s, 3) cannot refund: remove RefundOn, or use SlidingWindow`: {
			of(func(r *gate.Rule) {
				r.RefundOn, r.Limits = []string{"404"}, []slidegate.Limit{slidegate.TokenBucket(1, time.Second, 3)}
			}), nil},
		`Rules[0]: SlidingWindow(2, 1m): has the name "per-minute" as SlidingWindow(1, 1m) has: name one of them, such as WithName("burst")`: {
			of(func(r *gate.Rule) { r.Limits = append(perMinute(1), perMinute(2)...) }), nil},
		`Rules[0].Cost: 6 is above n of SlidingWindow(5, 1m), so no request would ever be allowed: lower Cost, or raise n`: {
			of(func(r *gate.Rule) { r.Cost = 6 }), nil},
		`Rules[0].When.Routes[0]: pattern "GET /x/{id}": write /x/{id} here and GET under Methods`: {
			of(func(r *gate.Rule) { r.When.Routes = []string{"GET /x/{id}"} }), nil},
		`Rules[0].When.Paths[0]: pattern "/x/{id}": a path has no template parameters: write * in place of {id}, or match Routes`: {
			of(func(r *gate.Rule) { r.When.Paths = []string{"/x/{id}"} }), nil},
		`Rules[0].OnError: give FailLocal at least one process`: {of(func(r *gate.Rule) { r.OnError = slidegate.FailLocal(0) }), nil},
		`Rules[0].OnError: FailLocal(3): a gate counts for one number of processes, and it is 2 already`: {
			of(func(r *gate.Rule) { r.OnError = slidegate.FailLocal(3) }), []gate.Option{slidegate.FailLocal(2)}},
		"Rules[0]: SlidingLog(1001, 1h): n must be at most 1000: use SlidingWindow for more": {
			of(func(r *gate.Rule) { r.Limits = append(perMinute(1), slidegate.SlidingLog(1001, time.Hour)) }), nil},
		"Rules[0]: limit 1 is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind": {
			of(func(r *gate.Rule) { r.Limits = []slidegate.Limit{{}} }), nil},
		`Deny[0]: is empty and would match every request: write which ones it is for`: {gate.Rules{Deny: []gate.Match{{}}}, nil},
		"TrustedProxies must be from 0 to 32\n" +
			`Deny[0].CIDRs[0]: "1.2" is no network: write one such as 198.51.100.0/24 or 2001:db8::/32`: {
			gate.Rules{TrustedProxies: -1, Deny: []gate.Match{{CIDRs: []string{"1.2"}}}}, nil},
		`Rules[0].Lease must be from 2 to 1000`:                                   {of(func(r *gate.Rule) { r.Lease = 1 }), nil},
		`FailLocal: give at least one process`:                                    {gate.Rules{}, []gate.Option{slidegate.FailLocal(0)}},
		`Rules[1].Name: "a" is the name of Rules[0] too: write a name of its own`: {gate.Rules{Rules: slices.Concat(of(func(*gate.Rule) {}).Rules, of(func(*gate.Rule) {}).Rules)}, nil},
	} {
		if _, err := gate.New(test.rules, test.options...); err == nil || err.Error() != "slidegate: "+want {
			t.Errorf("got\n%v\nwant\nslidegate: %s", err, want)
		}
	}
}

// TestGateWarnings: rules that are valid but probably not meant are logged once, and
// that there are none.
func TestGateWarnings(t *testing.T) {
	var log strings.Builder
	fetch := gate.Rule{Name: "a", Key: "x", When: gate.Match{Methods: []string{"FETCH"}}, Limits: perMinute(5), Atomic: true}
	bucket := gate.Rule{Name: "b", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.TokenBucket(9, time.Second, 9)}}
	last := gate.Rule{Name: "c", Key: "all", Limits: perMinute(5)}
	secret := gate.Rule{Name: "d", Key: "{header.x-api-key}", Limits: perMinute(5)}
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{fetch, bucket, last, secret}}, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	mustDecide(t, g, request("GET /"))
	mustGate(t, gate.Rules{}, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for _, want := range []string{
		`Rules: there are none, so no request is limited`,
		`Rules[0].When.Methods[0]: HTTP has no method FETCH: did you mean PATCH?`, `Rules[0].Key: no source is in it`,
		`Rules[0].Atomic: has no effect`,
		`Rules[1].Limits: a TokenBucket does not refund a request that rule c denies afterwards: put this rule below it, or set Atomic in both`,
		`Rules[3].Key: rule d puts {header.x-api-key}, a secret, into tables and logs: count by a hash of it, or use a rules file with hashed keys`,
	} {
		if !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 6 {
			t.Errorf("logged\n%s\nwant six lines, with %s", &log, want)
		}
	}
}

// TestOperations: no request of a Go program has a GraphQL operation. A rule that
// counts by one is refused, and one that selects by one covers no request, as the
// log says.
func TestOperations(t *testing.T) {
	query := gate.Match{Claims: map[string][]string{"graphql.type": {"query"}}}
	for want, rule := range map[string]gate.Rule{
		"slidegate: rule r reads {graphql.name}, which only a request of AppSync has": {Name: "r", Key: "{graphql.name}", Limits: perMinute(1)},
		"<nil>": {Name: "r", When: query, Key: "{graphql.name}", Limits: perMinute(1)},
	} {
		var log strings.Builder
		g := mustGate(t, gate.Rules{Rules: []gate.Rule{rule}}, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		for range 2 {
			if d, err := g.Decide(t.Context(), request("GET /")); !strings.HasPrefix(fmt.Sprint(err), want) || err == nil && (!d.Allowed || d.Rule != "") {
				t.Errorf("decided %+v, %v; want %s", d, err, want)
			}
		}
		if !strings.Contains(log.String(), `no other request has one" rules=Rules reads="rule r reads {graphql.name}"`) {
			t.Errorf("logged %s", &log)
		}
	}
}

// TestRulePolicies: a rule's policy is its own, and the gate's is for the rest.
func TestRulePolicies(t *testing.T) {
	quiet := slidegate.WithLogger(slog.New(slog.DiscardHandler))
	for want, test := range map[string]struct{ gate, rule slidegate.ErrorPolicy }{
		"1 of 9":  {},
		"9 of 9":  {rule: slidegate.FailOpen()},
		"0 of 9":  {rule: slidegate.FailClosed()},
		"5 of 9":  {rule: slidegate.FailLocal(2)},
		"2 of 9":  {gate: slidegate.FailOpen(), rule: slidegate.FailLocal(5)},
		"9 of 9 ": {gate: slidegate.FailOpen()},
		"0 of 9 ": {gate: slidegate.FailClosed()},
	} {
		options := []gate.Option{quiet, slidegate.WithStore(broken())}
		if test.gate != (slidegate.ErrorPolicy{}) {
			options = append(options, test.gate)
		}
		g := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "a", Key: "all", OnError: test.rule, Limits: perMinute(10)}}}, options...)
		passed := 0
		for range 9 {
			if mustDecide(t, g, request("GET /")).Allowed {
				passed++
			}
		}
		if got := fmt.Sprintf("%d of 9", passed); got != strings.TrimSpace(want) {
			t.Errorf("%s pass, want %s", got, want)
		}
	}
}
