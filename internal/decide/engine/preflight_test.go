package engine_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

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
		{"rules: [{name: r, " + limits + "}, {name: s, " + limits + "}]", free, 0},
		{"unmatched: deny\nrules: []", free, 0},
		{"unmatched: deny\nrules: [{name: r, when: {methods: [OPTIONS]}, mode: shadow, " + limits + "}]", free, 3},
		{"rules: [{name: r, when: {methods: [OPTIONS, GET]}, " + limits + "}]", "limited denied denied", 3},
		{"rules: [{name: r, when: {methods: [OPTIONS], caller: anonymous}, " + limits + "}]", "limited denied denied", 3},
		{"rules: [{name: r, when: {methods: [OPTIONS]}, " + limits + "}, {name: s, " + limits + "}]", "limited denied denied", 3},

		{"deny: [{cidrs: [203.0.113.0/24]}]\nrules: []", "banned banned banned", 0},
		{"deny: [{cidrs: [198.51.100.0/24]}]\nrules: []", free, 0},
		{"deny: [{path: /v1/**}]\nrules: []", "banned banned banned", 0},
		{"deny: [{caller: anonymous}]\nrules: []", free, 0},
		{"deny: [{methods: [OPTIONS], caller: anonymous}]\nrules: []", "banned banned banned", 0},

		{"rules: [{name: r, " + limits + "}]" + bans, "banned banned banned", 0},
		{"rules: [{name: r, when: {methods: [OPTIONS]}, " + limits + "}]" + bans, "banned banned banned", 0},
		{"rules: [{name: r, mode: shadow, " + limits + "}]" + bans, free, 0},
		{"rules: [{name: r, when: {methods: [GET]}, " + limits + "}]" + bans, free, 0},
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

// TestPreflightOfAnExhaustedAddress passes: the counters of rules that do not
// count it cannot deny it.
func TestPreflightOfAnExhaustedAddress(t *testing.T) {
	b := newFixture(t, twoRules)
	for range 3 {
		b.decide(t, "/v1/chat")
	}
	req := preflightFrom("203.0.113.9")
	req.Path = "/v1/chat"
	if d, err := b.engine.Decide(t.Context(), epoch, req); err != nil || !d.Allowed || d.Reason != engine.Preflight || len(d.Verdicts) != 0 {
		t.Errorf("%+v, error %v", d, err)
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
