package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
	"github.com/slidegate/slidegate/internal/test/oracle"
)

// read compiles a file. Every good document of these tests is also one that
// the schema takes, and one that means the same when it is normalized.
func read(t testing.TB, file, document string) (*Set, error) {
	t.Helper()
	s, d, err := compileText(file, []byte(document))
	if err != nil {
		return nil, err
	}
	if err := oracle.Validate(t, document); err != nil {
		t.Errorf("the schema refuses what Compile takes: %v\nof:\n%.2000s", err, document)
	}
	checkNormal(t, s, d, document)
	return s, nil
}

func compileText(file string, text []byte) (*Set, *ruledoc.Document, error) {
	d := &ruledoc.Document{}
	positions, err := yamlfile.Decode(file, text, d)
	if positions == nil {
		return nil, nil, err
	}
	s, problems := Compile(d)
	if errs := positions.Locate(problems); len(errs) > 0 {
		return nil, nil, errs
	}
	return s, d, nil
}

// checkNormal compiles a document in its canonical form and out of JSON.
func checkNormal(t testing.TB, s *Set, d *ruledoc.Document, text string) {
	t.Helper()
	n := s.Document()
	if diff := cmp.Diff(n, ruledoc.Normalize(n)); diff != "" {
		t.Errorf("normalizing a normal document changes it (-before +after):\n%s\nof:\n%.2000s", diff, text)
	}
	encoded, err := ruledoc.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := ruledoc.Unmarshal(encoded)
	if err != nil {
		t.Fatalf("%v\nof:\n%s", err, encoded)
	}
	if diff := cmp.Diff(n, decoded); diff != "" {
		t.Errorf("JSON changes the document (-before +after):\n%s\nof:\n%.2000s", diff, text)
	}
	again, problems := Compile(decoded)
	if len(problems) > 0 {
		t.Fatalf("the normal form is not valid: %v\n%s\nof:\n%.2000s", problems, encoded, text)
	}
	if diff := cmp.Diff(n, again.Document()); diff != "" {
		t.Errorf("the normal form has another normal form (-before +after):\n%s", diff)
	}
	for i, r := range s.Rules {
		if diff := cmp.Diff(behaviour(r), behaviour(again.Rules[i]), inside, sameLimits); diff != "" {
			t.Errorf("rule %s changes when it is normalized (-before +after):\n%s\nof:\n%.2000s", r.Name, diff, text)
		}
	}
	if !reflect.DeepEqual(s.address, again.address) || s.Unmatched != again.Unmatched || s.Instances != again.Instances || !reflect.DeepEqual(s.plans, again.plans) {
		t.Errorf("the set changes when it is normalized:\n%.2000s", text)
	}
	if diff := cmp.Diff(decisions(s), decisions(again)); diff != "" {
		t.Errorf("decisions change once it is normalized (-before +after):\n%s\nof:\n%.2000s", diff, text)
	}
	if diff := cmp.Diff(s.namedOverrides(), again.namedOverrides(), inside, sameLimits); diff != "" && len(s.overrides)+len(again.overrides) > 0 {
		t.Errorf("overrides change when they are normalized (-before +after):\n%s", diff)
	}
}

// behaviour returns the rule without the fields that may differ in the normal
// form: the order of lists, and the letter case of header names.
func behaviour(r *Rule) Rule {
	b := *r
	b.Key, b.when, b.unless, b.refunds, b.overridable = "", match.Selector{}, nil, nil, nil
	b.template.ClientSources, b.Places = nil, nil
	b.Limits = slices.Clone(r.Limits)
	for i := range b.Limits {
		if c := b.Limits[i].Calendar; c != nil {
			first := *c
			first.Anchor = max(1, c.Anchor) // by default
			b.Limits[i].Calendar = &first
		}
	}
	if len(b.Candidates) == 0 {
		b.Candidates = nil
	}
	b.own.Limits, b.own.candidates = b.Limits, b.Candidates
	if r.overridable == nil {
		b.cost = Cost{} // no limit needs it
	}
	return b
}

// samples are requests that differ in everything that selectors look at.
func samples() (all []*request.Request) {
	for i, path := range []string{"/", "/v1/items", "/V1/Chat", "/v1//chat/", "/v2/x/y", "/health", "/a/b", "/login", "/v1/hooks/x"} {
		for j, claims := range []map[string]any{nil, {"sub": "a|b", "tenant": "acme", "plan": "pro", "scope": "read write"}, {"plan": []any{"free", "pro"}}} {
			all = append(all, &request.Request{
				Method: []string{"GET", "post", "OPTIONS"}[(i+j)%3], Path: path, Stage: []string{"", "prod"}[i%2], Claims: claims, Rejected: i == 4,
				IP:      netip.MustParseAddr([]string{"198.51.100.7", "10.1.2.3", "2001:db8::1", "203.0.113.9"}[(i+j)%4]),
				Headers: map[string][]string{"X-User": {"u"}, "X-Tokens": {"700"}}, Query: map[string][]string{"q": {"1"}}, PathParams: map[string]string{"id": "7"},
			})
		}
	}
	return all
}

// decisions describe what a set decides about the samples.
func decisions(s *Set) (all []string) {
	for _, req := range samples() {
		line := fmt.Sprintf("%s %s: denied %t, skipped %t, plan %q", req.Method, req.Path, s.Banned(req), s.Skipped(req), s.Plan(req))
		for _, r := range s.Match(nil, req) {
			override, _ := r.AppendOverrideKey(nil, req)
			terms := r.Terms(req, s.Plan(req), nil, time.Time{})
			line += fmt.Sprintf(", %s by %s and %s refunds %t %t takes %v", r.Name, r.AppendKey(nil, req), override, Among(r.RefundOn(), 404), Among(r.RefundOn(), 503), terms.Costs)
		}
		all = append(all, line)
	}
	return all
}

// namedOverrides are the document's overrides with the name of a rule's only
// limit, which a document may leave out.
func (s *Set) namedOverrides() map[string]map[string]Override {
	named := map[string]map[string]Override{}
	for rule, overrides := range s.overrides {
		for key, o := range overrides {
			if named[rule] == nil {
				named[rule] = map[string]Override{}
			}
			n := *o
			if r, ok := s.Rule(rule); ok && len(o.Capacity) == 1 && len(r.Limits) == 1 {
				for _, units := range o.Capacity {
					n.Capacity = map[string]int64{r.Limits[0].Name: units}
				}
			}
			named[rule][key] = n
		}
	}
	return named
}

// parseOverride compiles an override out of YAML.
func parseOverride(place string, document []byte) (*Override, error) {
	d := &ruledoc.Override{}
	positions, err := yamlfile.Decode(place, document, d)
	if positions == nil {
		return nil, err
	}
	o, problems := CompileOverride(d)
	if errs := positions.Locate(problems); len(errs) > 0 {
		return nil, errs
	}
	return o, nil
}

// changes is ruledoc.Diff of the documents of two sets.
func changes(a, b *Set) []ruledoc.Change { return ruledoc.Diff(a.Document(), b.Document()) }

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
