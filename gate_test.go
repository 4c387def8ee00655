package slidegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

func perMinute(n int64) []slidegate.Limit {
	return []slidegate.Limit{slidegate.SlidingWindow(n, time.Minute)}
}

// request returns a request by an anonymous client, "METHOD /path".
func request(line string) *slidegate.Request {
	method, path, _ := strings.Cut(line, " ")
	return &slidegate.Request{Method: method, Path: path, IP: netip.MustParseAddr("192.0.2.1")}
}

func mustDecide(t *testing.T, g *slidegate.Gate, r *slidegate.Request) *slidegate.Decision {
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
		match   slidegate.Match
		matches []*slidegate.Request
		not     []*slidegate.Request
	}{
		{slidegate.Match{}, []*slidegate.Request{request("GET /"), route, pro, rejected}, nil},
		{slidegate.Match{Methods: []string{"post", "PUT"}}, []*slidegate.Request{request("POST /"), request("PUT /")}, []*slidegate.Request{request("GET /")}},
		{slidegate.Match{Paths: []string{"/a/*", "/b/**"}}, []*slidegate.Request{request("GET /a/1"), request("GET /b/1/2")}, []*slidegate.Request{request("GET /a/1/2"), request("GET /")}},
		{slidegate.Match{Routes: []string{"/users/{id}"}}, []*slidegate.Request{route}, []*slidegate.Request{request("GET /users")}},
		{slidegate.Match{CIDRs: []string{"192.0.2.0/24"}}, []*slidegate.Request{request("GET /")}, []*slidegate.Request{elsewhere}},
		{slidegate.Match{Callers: []string{"anonymous"}}, []*slidegate.Request{request("GET /")}, []*slidegate.Request{pro, rejected, keyed}},
		{slidegate.Match{Callers: []string{"known"}}, []*slidegate.Request{pro, keyed}, []*slidegate.Request{request("GET /"), rejected}},
		{slidegate.Match{Callers: []string{"rejected"}}, []*slidegate.Request{rejected}, []*slidegate.Request{pro}},
		{slidegate.Match{Claims: map[string][]string{"jwt.plan": {"team", "pro"}}}, []*slidegate.Request{pro}, []*slidegate.Request{request("GET /")}},
		{slidegate.Match{Claims: map[string][]string{"jwt./org/id": {"acme"}}}, []*slidegate.Request{pro}, []*slidegate.Request{request("GET /")}},
		{slidegate.Match{Methods: []string{"GET"}, Paths: []string{"/a"}}, []*slidegate.Request{request("GET /a")}, []*slidegate.Request{request("POST /a"), request("GET /b")}},
	} {
		rule := slidegate.Rule{Name: "rule", Key: "all", Limits: perMinute(100)}
		when := rule
		when.When = test.match
		sets := map[string]slidegate.Rules{"When": {Rules: []slidegate.Rule{when}}}
		if i > 0 { // an empty Match matches nothing in the places below, or is an error
			unless := rule
			unless.Unless = test.match
			sets["Unless"] = slidegate.Rules{Rules: []slidegate.Rule{unless}}
			sets["Deny"] = slidegate.Rules{Deny: []slidegate.Match{test.match}, Rules: []slidegate.Rule{rule}}
			sets["Skip"] = slidegate.Rules{Skip: []slidegate.Match{test.match}, Rules: []slidegate.Rule{rule}}
		}
		want := map[string][2]string{ // of requests that match, and of others
			"When": {"limited", "unmatched"}, "Unless": {"unmatched", "limited"}, "Deny": {"banned", "limited"}, "Skip": {"skipped", "limited"},
		}
		for field, set := range sets {
			gate := mustGate(t, set)
			for j, requests := range [][]*slidegate.Request{test.matches, test.not} {
				for _, r := range requests {
					if d := mustDecide(t, gate, r); d.Reason != want[field][j] || d.Allowed != (d.Reason != "banned") {
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
	rule := func(change func(*slidegate.Rule)) slidegate.Rules {
		r := slidegate.Rule{Name: "rule", Key: "user:{header.x-user}", Limits: perMinute(4)}
		change(&r)
		return slidegate.Rules{Rules: []slidegate.Rule{r}}
	}
	for name, test := range map[string]struct {
		rules slidegate.Rules
		want  string
	}{
		"Key":           {rule(func(*slidegate.Rule) {}), "aaabaA"},
		"a shared key":  {rule(func(r *slidegate.Rule) { r.Key = "all" }), "aabbAB"},
		"Cost":          {rule(func(r *slidegate.Rule) { r.Cost = 2 }), "aaAb"},
		"no Limits but": {rule(func(r *slidegate.Rule) { r.Limits = append(perMinute(9), slidegate.PerDay(2, "UTC")) }), "aaA"},
		"Shadow":        {rule(func(r *slidegate.Rule) { r.Shadow = true }), "aaaaaaaa"},
		"DenyUnmatched": {slidegate.Rules{DenyUnmatched: true}, "A"},
		"two rules": {slidegate.Rules{Rules: []slidegate.Rule{
			{Name: "each", Key: "user:{header.x-user}", Limits: perMinute(2)}, {Name: "all", Key: "all", Limits: perMinute(3)},
		}}, "aaAbB"},
		"Atomic": {slidegate.Rules{Rules: []slidegate.Rule{ // a denial of the second takes nothing from the first, although a bucket cannot refund
			{Name: "each", Key: "user:{header.x-user}", Atomic: true, Limits: []slidegate.Limit{slidegate.TokenBucket(1, time.Hour, 2)}},
			{Name: "all", Key: "all", Atomic: true, Cost: 3, Limits: perMinute(4)},
		}}, "aAB"},
	} {
		if strings.HasPrefix(name, "DenyUnmatched") {
			test.rules.Rules = []slidegate.Rule{{Name: "rule", When: slidegate.Match{Methods: []string{"PUT"}}, Key: "all", Limits: perMinute(9)}}
		}
		gate := mustGate(t, test.rules)
		got := ""
		for _, user := range strings.ToLower(test.want) {
			r := request("GET /")
			r.Headers = map[string][]string{"x-USER": {string(user)}}
			if letter := string(user); mustDecide(t, gate, r).Allowed {
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

// TestTrustedProxies: the address that rules see.
func TestTrustedProxies(t *testing.T) {
	for proxies, want := range []string{"ip:192.0.2.1", "ip:198.51.100.7", "ip:203.0.113.9"} {
		gate := mustGate(t, slidegate.Rules{TrustedProxies: proxies, Rules: []slidegate.Rule{{Name: "rule", Key: "ip:{ip}", Limits: perMinute(9)}}})
		r := request("GET /")
		r.Headers = map[string][]string{"X-Forwarded-For": {"203.0.113.9, 198.51.100.7"}}
		if d := mustDecide(t, gate, r); d.Key != want {
			t.Errorf("%d proxies: counts by %s, want %s", proxies, d.Key, want)
		}
	}
}

// TestFinish: the charge of an allowed request is corrected by its answer.
func TestFinish(t *testing.T) {
	var log strings.Builder
	gate := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{{Name: "rule", Key: "all", RefundOn: []string{"404", "5xx"}, Limits: perMinute(9)}}},
		slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for i, test := range []struct {
		status int
		left   int64
	}{{404, 8}, {200, 8}, {503, 7}, {0, 7}, {404, 6}, {201, 6}} {
		d := mustDecide(t, gate, request("GET /"))
		if d.Remaining != test.left {
			t.Errorf("request %d: %d left, want %d", i, d.Remaining, test.left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		gate.Finish(ctx, d, slidegate.Outcome{Status: test.status})
		gate.Finish(ctx, d, slidegate.Outcome{Status: 404}) // only the first call counts
	}
	d := mustDecide(t, gate, request("GET /"))
	gate.Finish(t.Context(), d, slidegate.Outcome{Costs: map[string]int64{"rule.tokens": 5}})
	if !strings.Contains(log.String(), "rule.tokens") {
		t.Errorf("a cost without a limit is not logged: %s", &log)
	}
}

// TestFinishOnce: of concurrent calls for a decision one counts, so that no unit
// is refunded twice.
func TestFinishOnce(t *testing.T) {
	gate := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{{Name: "rule", Key: "all", RefundOn: []string{"404"}, Limits: perMinute(9)}}})
	mustDecide(t, gate, request("GET /"))
	d := mustDecide(t, gate, request("GET /"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { gate.Finish(t.Context(), d, slidegate.Outcome{Status: 404}) })
	}
	wg.Wait()
	if d := mustDecide(t, gate, request("GET /")); d.Remaining != 7 {
		t.Errorf("%d left", d.Remaining)
	}
}

// TestClaimTypes: claims may have the types that programs have at hand.
func TestClaimTypes(t *testing.T) {
	type userID string
	gate := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{
		{Name: "admin", When: slidegate.Match{Claims: map[string][]string{"jwt.roles": {"admin"}}}, Key: "admin:{jwt.sub}", Limits: perMinute(1)},
		{Name: "user", Unless: slidegate.Match{Claims: map[string][]string{"jwt.roles": {"admin"}}}, Key: "user:{jwt.sub}", Limits: perMinute(99)},
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
		if d := mustDecide(t, gate, r); d.Key != test.want {
			t.Errorf("sub %T %v, roles %v: counts by %s, want %s", test.sub, test.sub, test.roles, d.Key, test.want)
		}
	}
}

// TestDescribeBy: the gate sees claims that the program has verified.
func TestDescribeBy(t *testing.T) {
	gate := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{
		{Name: "user", When: slidegate.Match{Callers: []string{"known"}}, Key: "user:{jwt.sub}|{route}", Limits: perMinute(1)},
		{Name: "rest", When: slidegate.Match{Callers: []string{"anonymous"}}, Key: "ip:{ip}", Limits: perMinute(1)},
	}})
	describe := slidegate.DescribeBy(func(r *http.Request, d *slidegate.Request) {
		d.Route = r.Pattern
		if user := r.Header.Get("Authorization"); user != "" { // as authentication middleware leaves it
			d.Claims = map[string]any{"sub": user}
		}
	})
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", gate.Middleware(describe)(okay))
	for i, test := range []struct {
		path, user string
		status     int
		policy     string
	}{
		{"/items/1", "ada", 200, `"user";q=1;w=60`},
		{"/items/2", "ada", 429, `"user";q=1;w=60`},
		{"/items/1", "bob", 200, `"user";q=1;w=60`},
		{"/items/1", "", 200, `"rest";q=1;w=60`},
		{"/items/2", "", 429, `"rest";q=1;w=60`},
	} {
		var fields []string
		if test.user != "" {
			fields = []string{"Authorization: " + test.user}
		}
		if r := sendTo(mux, "GET", test.path, fields...); r.StatusCode != test.status || r.Header.Get("RateLimit-Policy") != test.policy {
			t.Errorf("request %d: status %d, fields %v", i, r.StatusCode, r.Header)
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
	set := slidegate.Rules{
		Deny: []slidegate.Match{{Paths: []string{"/banned"}}}, Skip: []slidegate.Match{{Paths: []string{"/health"}}},
		Rules: []slidegate.Rule{
			{Name: "trial", Key: "all", Shadow: true, Limits: perMinute(1)},
			{Name: "each", When: slidegate.Match{Paths: []string{"/a"}}, Key: "ip:{ip}", Limits: perMinute(2)},
			{Name: "all", When: slidegate.Match{Paths: []string{"/a"}}, Key: "all", Limits: perMinute(9)},
		},
	}
	quiet := slidegate.WithLogger(slog.New(slog.DiscardHandler))
	gate := mustGate(t, set, observe, quiet)
	broken := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{{Name: "each", Key: "all", OnError: slidegate.FailOpen, Limits: perMinute(2)}}},
		observe, quiet, slidegate.WithStore(brokenStore{slidegate.NewMemory(0)}))
	for _, step := range []struct {
		gate *slidegate.Gate
		path string
		want []string
	}{
		{gate, "/a", []string{"each ip:192.0.2.1 limited allowed=true left=1", "all all limited allowed=true left=8", "trial all limited allowed=true left=0 shadow"}},
		{gate, "/a", []string{"each ip:192.0.2.1 limited allowed=true left=0", "all all limited allowed=true left=7", "trial all limited allowed=false left=0 shadow"}},
		{gate, "/a", []string{"each ip:192.0.2.1 limited allowed=false left=0"}},
		{gate, "/b", []string{"trial all limited allowed=false left=0 shadow", "  unmatched allowed=true left=0"}},
		{gate, "/banned", []string{"  banned allowed=false left=0"}},
		{gate, "/health", []string{"  skipped allowed=true left=0"}},
		{broken, "/", []string{"each all on_error: allow: the store is away", "each all limited allowed=true left=0"}},
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

func (s noRules) Open(ruledoc.Defaults, *slog.Logger) (engine.RuleSource, engine.OverrideSource, error) {
	return s, nil, nil
}

func (noRules) Rules(context.Context, time.Time) (*rules.Set, error) { return nil, errNoRules }

// TestGateErrors: errors name what is wrong by its place in the Go data, and say
// what to write instead.
func TestGateErrors(t *testing.T) {
	of := func(change func(*slidegate.Rule)) slidegate.Rules {
		r := slidegate.Rule{Name: "a", Key: "ip:{ip}", Limits: perMinute(5)}
		change(&r)
		return slidegate.Rules{Rules: []slidegate.Rule{r}}
	}
	for want, test := range map[string]struct {
		rules   slidegate.Rules
		options []slidegate.Option
	}{
		`Rules[0].Name: is missing: write one that no other rule has, such as "per-ip"
Rules[0].Key: is missing: write what to count by, such as "ip:{ip}"
Rules[0].Limits: is missing: write one to eight, such as SlidingWindow(100, time.Minute)`: {of(func(r *slidegate.Rule) { *r = slidegate.Rule{} }), nil},
		`Rules[0].Name: "A b" cannot be a name: use 1 to 63 lower-case letters, digits and hyphens, a letter or digit first`: {of(func(r *slidegate.Rule) { r.Name = "A b" }), nil},
		`Rules[0].Key: unknown source {ipp}: did you mean {ip}?`:                                                             {of(func(r *slidegate.Rule) { r.Key = "{ipp}" }), nil},
		`Rules[0].Cost must be from 0 to 4294967295`:                                                                         {of(func(r *slidegate.Rule) { r.Cost = -1 }), nil},
		`Rules[0].When.Paths[1]: pattern "x": a pattern begins with a slash: write /x`:                                       {of(func(r *slidegate.Rule) { r.When.Paths = []string{"/a", "x"} }), nil},
		`Rules[0].Unless.CIDRs[0]: "10.0.0.1" is an address: write the network 10.0.0.1/32`:                                  {of(func(r *slidegate.Rule) { r.Unless.CIDRs = []string{"10.0.0.1"} }), nil},
		`Rules[0].When.Callers[0]: unknown value "knwn": did you mean known?`:                                                {of(func(r *slidegate.Rule) { r.When.Callers = []string{"knwn"} }), nil},
		`Rules[0].When.Methods: is empty: give a value, or nil`:                                                              {of(func(r *slidegate.Rule) { r.When.Methods = []string{} }), nil},
		`Rules[0].When.Claims["plan"]: unknown source plan: there are ip, jwt.NAME, apikey, header.NAME, query.NAME, path.NAME, method, route, stage, country and asn`: {
			of(func(r *slidegate.Rule) { r.When.Claims = map[string][]string{"plan": {"pro"}} }), nil},
		`Rules[0].Key: country is what CloudFront says of the client, and Rules cannot trust CloudFront: use a rules file with client_ip`: {
			of(func(r *slidegate.Rule) { r.Key = "{country}" }), nil},
		`Rules[0].RefundOn[0]: "4x" is no status: write a number such as 404, or a class such as 5xx`: {of(func(r *slidegate.Rule) { r.RefundOn = []string{"4x"} }), nil},
		`Rules[0].RefundOn: TokenBucket(1, 1s, 3) cannot refund: remove RefundOn, or use SlidingWindow`: {
			of(func(r *slidegate.Rule) {
				r.RefundOn, r.Limits = []string{"404"}, []slidegate.Limit{slidegate.TokenBucket(1, time.Second, 3)}
			}), nil},
		`Rules[0]: SlidingWindow(2, 1m): has the name "per-minute" as SlidingWindow(1, 1m) has: name one of them, such as Named("burst")`: {
			of(func(r *slidegate.Rule) { r.Limits = append(perMinute(1), perMinute(2)...) }), nil},
		`Rules[0].OnError: FailError is for limiters: take FailOpen, FailClosed or FailLocal`: {of(func(r *slidegate.Rule) { r.OnError = slidegate.FailError }), nil},
		`Rules[0].Cost: 6 is above n of SlidingWindow(5, 1m), so no request would ever be allowed: lower Cost, or raise n`: {
			of(func(r *slidegate.Rule) { r.Cost = 6 }), nil},
		`Rules[0].When.Routes[0]: pattern "GET /x/{id}": write /x/{id} here and GET under Methods`: {
			of(func(r *slidegate.Rule) { r.When.Routes = []string{"GET /x/{id}"} }), nil},
		`Rules[0].When.Paths[0]: pattern "/x/{id}": a path has no template parameters: write * in place of {id}, or match Routes`: {
			of(func(r *slidegate.Rule) { r.When.Paths = []string{"/x/{id}"} }), nil},
		`Rules[0].OnError: give FailLocal at least one process`: {of(func(r *slidegate.Rule) { r.OnError = slidegate.FailLocal(0) }), nil},
		`Rules[0].OnError: FailLocal(3): a gate counts for one number of processes, and it is 2 already`: {
			of(func(r *slidegate.Rule) { r.OnError = slidegate.FailLocal(3) }), []slidegate.Option{slidegate.WithErrorPolicy(slidegate.FailLocal(2))}},
		`Deny[0]: is empty and would match every request: write which ones it is for`:                  {slidegate.Rules{Deny: []slidegate.Match{{}}}, nil},
		`TrustedProxies must be from 0 to 32`:                                                          {slidegate.Rules{TrustedProxies: -1}, nil},
		`a gate takes no limits, no name and no lease: write them in its rules`:                        {slidegate.Rules{}, []slidegate.Option{slidegate.WithName("x")}},
		`Rules[0].Lease must be from 2 to 1000`:                                                        {of(func(r *slidegate.Rule) { r.Lease = 1 }), nil},
		`FailError is for limiters: a gate takes FailOpen, FailClosed or FailLocal`:                    {slidegate.Rules{}, []slidegate.Option{slidegate.WithErrorPolicy(slidegate.FailError)}},
		`WithErrorPolicy: give FailOpen, FailClosed, FailError, or FailLocal for at least one process`: {slidegate.Rules{}, []slidegate.Option{slidegate.WithErrorPolicy(slidegate.FailLocal(0))}},
		`Rules[1].Name: "a" is the name of Rules[0] too: write a name of its own`:                      {slidegate.Rules{Rules: slices.Concat(of(func(*slidegate.Rule) {}).Rules, of(func(*slidegate.Rule) {}).Rules)}, nil},
	} {
		if _, err := slidegate.NewGate(test.rules, test.options...); err == nil || err.Error() != "slidegate: "+want {
			t.Errorf("got\n%v\nwant\nslidegate: %s", err, want)
		}
	}
}

// TestGateWarnings: rules that are valid but probably not meant are logged once.
func TestGateWarnings(t *testing.T) {
	var log strings.Builder
	fetch := slidegate.Rule{Name: "a", Key: "x", When: slidegate.Match{Methods: []string{"FETCH"}}, Limits: perMinute(5), Atomic: true}
	bucket := slidegate.Rule{Name: "b", Key: "ip:{ip}", Limits: []slidegate.Limit{slidegate.TokenBucket(9, time.Second, 9)}}
	last := slidegate.Rule{Name: "c", Key: "all", Limits: perMinute(5)}
	gate := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{fetch, bucket, last}}, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	mustDecide(t, gate, request("GET /"))
	for _, want := range []string{
		`Rules[0].When.Methods[0]: HTTP has no method FETCH: did you mean PATCH?`, `Rules[0].Key: no source is in it`,
		`Rules[0].Atomic: has no effect`,
		`Rules[1].Limits: a TokenBucket does not refund a request that rule c denies afterwards: put this rule below it, or set Atomic in both`,
	} {
		if !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 4 {
			t.Errorf("logged\n%s\nwant four lines, with %s", &log, want)
		}
	}
}

// TestNoRules: a gate without rules says that it limits nothing.
func TestNoRules(t *testing.T) {
	var log strings.Builder
	mustGate(t, slidegate.Rules{}, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if !strings.Contains(log.String(), "Rules: there are none, so no request is limited") {
		t.Errorf("logged %q", &log)
	}
}

// TestRulePolicies: a rule's policy is its own, and the gate's is for the rest.
func TestRulePolicies(t *testing.T) {
	quiet := slidegate.WithLogger(slog.New(slog.DiscardHandler))
	for want, test := range map[string]struct{ gate, rule slidegate.ErrorPolicy }{
		"1 of 9":  {},
		"9 of 9":  {rule: slidegate.FailOpen},
		"0 of 9":  {rule: slidegate.FailClosed},
		"5 of 9":  {rule: slidegate.FailLocal(2)},
		"2 of 9":  {gate: slidegate.FailOpen, rule: slidegate.FailLocal(5)},
		"3 of 9":  {gate: slidegate.FailLocal(3), rule: slidegate.FailLocal(3)},
		"9 of 9 ": {gate: slidegate.FailOpen},
		"0 of 9 ": {gate: slidegate.FailClosed},
	} {
		options := []slidegate.Option{quiet, slidegate.WithStore(brokenStore{slidegate.NewMemory(0)})}
		if test.gate != (slidegate.ErrorPolicy{}) {
			options = append(options, slidegate.WithErrorPolicy(test.gate))
		}
		gate := mustGate(t, slidegate.Rules{Rules: []slidegate.Rule{{Name: "a", Key: "all", OnError: test.rule, Limits: perMinute(10)}}}, options...)
		passed := 0
		for range 9 {
			if mustDecide(t, gate, request("GET /")).Allowed {
				passed++
			}
		}
		if got := fmt.Sprintf("%d of 9", passed); got != strings.TrimSpace(want) {
			t.Errorf("%s pass, want %s", got, want)
		}
	}
}

// TestDecisionOfRejected: headers and claims of a request stay as they are.
func TestDecideLeavesTheRequest(t *testing.T) {
	gate := mustGate(t, slidegate.Rules{TrustedProxies: 1, Rules: []slidegate.Rule{{Name: "a", Key: "ip:{ip}", Limits: perMinute(9)}}})
	r := request("GET /")
	r.Headers = map[string][]string{"X-Forwarded-For": {"198.51.100.7"}}
	before := maps.Clone(r.Headers)
	mustDecide(t, gate, r)
	if d := mustDecide(t, gate, r); d.Remaining != 7 || d.Key != "ip:198.51.100.7" || r.IP != netip.MustParseAddr("192.0.2.1") || len(before) != len(r.Headers) {
		t.Errorf("decided %+v, and left %+v", d, r)
	}
}
