package rules

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/kit/problem"
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
	if errs := locate(positions, problems); len(errs) > 0 {
		return nil, nil, errs
	}
	return s, d, nil
}

// locate does what rulefile does, which imports this package.
func locate(positions *yamlfile.Positions, problems []problem.Problem) yamlfile.Errors {
	located := make([]yamlfile.Problem, len(problems))
	for i, p := range problems {
		missing := p.Code == problem.Missing || p.Code == problem.MissingLeast
		located[i] = yamlfile.Problem{Path: p.Path.String(), AtKey: p.AtKey, Missing: missing, Reason: p.Reason()}
	}
	return positions.Locate(located)
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
	if errs := locate(positions, problems); len(errs) > 0 {
		return nil, errs
	}
	return o, nil
}

// changes is ruledoc.Diff of the documents of two sets.
func changes(a, b *Set) []ruledoc.Change { return ruledoc.Diff(a.Document(), b.Document()) }
