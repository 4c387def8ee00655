package engine_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
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
// the rules that made it, and reaches the recorder. Its context ends with it, so
// that no timer waits for the deadline.
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
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Local: memory.New(0), Observer: log, Deadline: time.Hour})
		d, err := e.Decide(t.Context(), epoch, &test.req)
		if err != nil || d.Reason.String() != test.want || d.Allowed != test.ok || d.RulesVersion() != 7 {
			t.Errorf("%s: %+v, error %v", test.want, d, err)
		}
		if len(log.decided) != 1 || log.decided[0] != d || log.ctx.Err() == nil {
			t.Errorf("%s: recorded %+v; the context has ended: %v", test.want, log.decided, log.ctx.Err())
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

// TestWithoutRules: a decision that no document made has the default answers,
// and no limits that settle.
func TestWithoutRules(t *testing.T) {
	d := &engine.Decision{Allowed: true}
	if diff := gocmp.Diff(rules.Answers{}, d.Answers()); diff != "" || d.RulesVersion() != 0 {
		t.Errorf("version %d, answers (-want +got):\n%s", d.RulesVersion(), diff)
	}
	if got := d.UnknownCosts(map[string]int64{"chat": 1}); !slices.Equal(got, []string{"chat"}) || d.SettlingLimits() != nil {
		t.Errorf("unknown are %q; the limits that settle are %q", got, d.SettlingLimits())
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

// preflightFrom returns a preflight for /v1/items from an address.
func preflightFrom(ip string) *request.Request {
	return &request.Request{Method: "OPTIONS", Path: "/v1/items", IP: netip.MustParseAddr(ip), Headers: map[string][]string{
		"Origin": {"https://a.example"}, "Access-Control-Request-Method": {"PUT"}, "X-User": {"7"},
	}}
}

// TestPreflights: bans refuse preflights, and rules that name OPTIONS count them.
// All others are free and charge nothing, whatever is exhausted.
func TestPreflights(t *testing.T) {
	const free = "preflight preflight preflight"
	const limits = `key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]`
	const bans = "\noverrides: {r: {\"ip:203.0.113.9\": {deny: true}}}"
	for _, test := range []struct {
		rules, want string // of three preflights from 203.0.113.9
		charges     int
	}{
		{"rules: [{name: r, " + limits + "}]", free, 0},
		{"unmatched: deny\nrules: []", free, 0},
		{"unmatched: deny\nrules: [{name: r, when: {methods: [OPTIONS]}, mode: shadow, " + limits + "}]", free, 3},
		{"rules: [{name: r, when: {methods: [OPTIONS, GET]}, " + limits + "}]", "limited denied denied", 3},
		{"rules: [{name: r, when: {methods: [OPTIONS]}, " + limits + "}, {name: s, " + limits + "}]", "limited denied denied", 3},

		{"deny: [{cidrs: [203.0.113.0/24]}]\nrules: []", "banned banned banned", 0},
		{"deny: [{path: /v1/**}]\nrules: []", "banned banned banned", 0},
		{"deny: [{caller: anonymous}]\nrules: []", free, 0},
		{"deny: [{methods: [OPTIONS], caller: anonymous}]\nrules: []", "banned banned banned", 0},

		{"rules: [{name: r, " + limits + "}]" + bans, "banned banned banned", 0},
		{"rules: [{name: r, when: {methods: [OPTIONS]}, " + limits + "}]" + bans, "banned banned banned", 0},
		{"rules: [{name: r, mode: shadow, " + limits + "}]" + bans, free, 0},
		{"skip: [{path: /v1/**}]\nrules: [{name: r, " + limits + "}]" + bans, "skipped skipped skipped", 0},
		{"rules: [{name: r, " + limits + "}]" + strings.Replace(bans, ".9", ".8", 1), free, 0},
	} {
		b := newFixture(t, test.rules)
		var got []string
		for range 3 {
			d, err := b.engine.Decide(t.Context(), epoch, preflightFrom("203.0.113.9"))
			if err != nil {
				t.Fatal(err)
			}
			reason := d.Reason.String()
			if d.Reason == engine.Limited && !d.Allowed {
				reason = "denied"
			}
			got = append(got, reason)
		}
		if strings.Join(got, " ") != test.want || b.store.Count(fakestore.Charge) != test.charges {
			t.Errorf("%s\n%q and %d charges, want %q and %d", test.rules, got, b.store.Count(fakestore.Charge), test.want, test.charges)
		}
	}
}

// TestPreflightsAndOverrides: an override set by command refuses a preflight too.
// If it cannot be read, on_error decides. Preflights look up no keys that clients
// make up.
func TestPreflightsAndOverrides(t *testing.T) {
	for _, test := range []struct {
		key, onError, ip, want string
		err                    error
		lookups                int
	}{
		{"ip:{ip}", "local", "203.0.113.9", "banned", nil, 1},
		{"ip:{ip}", "local", "198.51.100.7", "preflight", nil, 1},
		{"ip:{ip}", "local", "203.0.113.9", "preflight", errDown, 1},
		{"ip:{ip}", "allow", "203.0.113.9", "preflight", errDown, 1},
		{"ip:{ip}", "deny", "203.0.113.9", "limited", errDown, 1},
		{"user:{header.x-user}", "deny", "203.0.113.9", "preflight", nil, 0},
	} {
		o := &operators{err: test.err, overrides: map[string]*rules.Override{"r user:7": {Deny: true}}}
		if test.err == nil {
			o.overrides["r ip:203.0.113.9"] = &rules.Override{Deny: true}
		}
		set := parse(t, `rules: [{name: r, key: "`+test.key+`", overrides: true, on_error: `+test.onError+`, limits: [{capacity: 9, window: 60s}]}]`)
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Overrides: o, Store: memory.New(0), Local: memory.New(0)})
		d, err := e.Decide(t.Context(), epoch, preflightFrom(test.ip))
		if err != nil || d.Reason.String() != test.want || d.Allowed != (test.want == "preflight") || d.Degraded != (test.err != nil) || len(o.lookups) != test.lookups {
			t.Errorf("%+v: %+v, %d lookups, error %v", test, d, len(o.lookups), err)
		}
	}
}
