package rules

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// manyOverrides is a document with as many overrides for one rule.
func manyOverrides(n int) string {
	var b strings.Builder
	b.WriteString("rules: [{name: api, key: 'user:{jwt.sub}', overrides: true, limits: [{capacity: 10, window: 60s}]}]\noverrides:\n  api:\n")
	for i := range n {
		fmt.Fprintf(&b, "    \"user:auth0|%d\": {capacity: %d, until: 2030-01-01T00:00:00Z, why: ticket %d}\n", i, i+1, i)
	}
	return b.String()
}

// Ten thousand overrides fit into one file.
func TestManyOverrides(t *testing.T) {
	s, err := read(t, "f", manyOverrides(10_000))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.overrides["api"]); n != 10_000 {
		t.Errorf("%d overrides", n)
	}
	if o := s.Override("api", "user:auth0%7C9999"); o == nil || o.Capacity[""] != 10_000 {
		t.Errorf("the last is %+v", o)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("rules:\n- name: r\n  when: {methods: [GET], route: /v1/**, path: '*'}\n  key: ip:{ip}|{header.x}\n  cost: 2\n  limits: [{capacity: 10, window: 60s}]\n  on_error: deny\n")
	f.Add("defaults: {on_error: local, instances: 3}\nunmatched: deny\ndeny: [{cidrs: [10.0.0.0/8]}]\nskip: [{path: /x}]\nrules: []")
	f.Add("rules:\n- limits:\n  - {name: a, algorithm: fixed_window, capacity: 1, window: 1d}\n  - {name: b, capacity: 1, window: 61s, granularity: 7s, cost: 9}\n")
	f.Add("rules:\n- {name: a, atomic: true, key: '{ip}', cost: 9, limits: [{algorithm: token_bucket, capacity: 4, window: 1s, burst: 8, over: clamp}]}\n" +
		"- {name: b, atomic: true, key: x, limits: [{algorithm: leaky_bucket, capacity: 5, window: 1d, queue: 3660}]}\n")
	f.Add("rules:\n- name: c\n  key: x\n  limits:\n  - {name: m, algorithm: fixed_window, capacity: 1, window: 1mo, timezone: Europe/Berlin, anchor: 15}\n" +
		"  - {name: w, algorithm: fixed_window, capacity: 1, window: 1w}\n  - {name: d, algorithm: fixed_window, capacity: 1, window: 1d, timezone: Asia/Tokyo}\n" +
		"  - {name: l, algorithm: sliding_window_log, capacity: 1000, window: 61s}\n  - {name: s, algorithm: sliding_window_counter, capacity: 7, window: 61s}\n")
	f.Add("client_ip: {header: x, secret: {header: y, env: E}}\nplan: {from: jwt./a/b, overrides: 'u:{apikey}'}\nplans: {p: {r: unlimited}, q: {r: {a: 5}}}\n" +
		"rules:\n- {name: r, key: 'u:{path.p}', overrides: 't:{jwt.t}|{ip}', trusted: path.p, counter: x, limits: [{name: a, capacity: 3, window: 1s, candidate: 80%}, {name: b, capacity: 9, window: 1h}]}\n" +
		"overrides:\n  plan: {'u:1': {plan: q, until: 2030-01-01T00:00:00Z}}\n  r: {'t:a|b|::1': {limits: [{capacity: 7, window: 1s, algorithm: token_bucket}]}, 't:c|10.0.0.1': {capacity: {b: 1}, why: x}, 't:d|-': {deny: true}}\n")
	f.Add("client_ip: {trusted_hops: 2}\nrules:\n- name: r\n  when: {caller: [known, rejected], match: {jwt.roles: [a, 1, true], stage: prod}, cidrs: 10.0.0.0/8}\n  unless: {caller: known, path: /x}\n" +
		"  key: '{jwt.sub}:{apikey}'\n  cost: {from: header.x, min: 1, max: 9, settle: true}\n  limits:\n  - {capacity: 5, window: 1mo, anchor: {from: jwt.d, default: 3}, over: clamp, candidate: 9}\n" +
		"  refund_on: [5xx, 404]\n  mode: shadow\n  headers: off\n")
	f.Add("rules:\n- {name: a, key: '{query.q}', overrides: true, mode: off, limits: [{capacity: 5, window: 1s}]}\noverrides: {a: {x: {capacity: 4}, 'y%25': {unlimited: true}}}\n")
	f.Add("rules: &a !!seq\n- *a\n<<: |\n  x\n\n--- >-\n ? \"\\x00\"\n")
	f.Fuzz(func(t *testing.T, document string) {
		s, err := read(t, "f", document)
		if err == nil {
			checkSet(t, s)
			return
		}
		errs, ok := errors.AsType[yamlfile.Errors](err)
		if !ok {
			t.Fatalf("error %T", err)
		}
		for _, e := range errs {
			if e.Line < 1 || e.Column < 1 || e.Reason == "" || strings.ContainsAny(e.Error(), "\n\r\x1b") {
				t.Errorf("error %#v", e)
			}
		}
	})
}

// checkTerms checks what stores rely on.
func checkTerms(t *testing.T, r *Rule, plan string, o *Override) *Terms {
	t.Helper()
	terms := r.Terms(&request.Request{}, plan, o, time.Time{})
	if terms.Unlimited || terms.Denied {
		if terms.Costs != nil || terms.Settles(0) {
			t.Errorf("a key without limits pays %v", terms.Costs)
		}
		return terms
	}
	if err := (&limit.Charge{Key: r.Item("k", terms), Limits: terms.Limits, Costs: terms.Costs}).Check(); err != nil || terms.Stale {
		t.Errorf("stale %t, %v", terms.Stale, err)
	}
	for i := range terms.Limits {
		if terms.Settles(i) && !terms.Limits[i].Correctable() {
			t.Errorf("%+v settles", terms.Limits[i])
		}
	}
	return terms
}

// checkSet checks what other packages rely on.
func checkSet(t *testing.T, s *Set) {
	names := map[string]bool{}
	for _, r := range s.Rules {
		if names[r.Name] || !ruleName.pattern().MatchString(r.Name) {
			t.Errorf("rule name %q", r.Name)
		}
		names[r.Name] = true
		if len(r.Limits) == 0 || len(r.Limits) > 8 || len(r.Costs) != len(r.Limits) {
			t.Errorf("%d limits and %d costs", len(r.Limits), len(r.Costs))
		}
		for i, l := range r.Limits {
			if l.Window < 100*time.Millisecond || r.Costs[i].unpayable(l.MaxCost()) || i > 0 && r.Limits[i-1].Name >= l.Name {
				t.Errorf("limit %+v, cost %+v", l, r.Costs[i])
			}
		}
		for _, plan := range append(s.plans, "") {
			own := checkTerms(t, r, plan, nil)
			for key, o := range s.overrides[r.Name] {
				about := r.overrideTarget()
				if got, err := about.read(key); got != key {
					t.Errorf("key %q of %s reads %q, %v", key, r.overridable.String(), got, err)
				}
				terms := checkTerms(t, r, plan, o)
				for i := range terms.Limits {
					if r.restrictOnly && !own.Unlimited && (terms.Unlimited || terms.Limits[i].Capacity > own.Limits[i].Capacity) {
						t.Errorf("the client's key loosens %+v to %+v", own, terms)
					}
				}
			}
		}
		key := string(r.AppendKey(nil, &request.Request{}))
		if got, err := s.ResolveKeys(r, key, &request.Request{}); got.Counter != key || err != nil {
			t.Errorf("key %q of template %q is read as %+v, %v", key, r.Key, got, err)
		}
	}
}
