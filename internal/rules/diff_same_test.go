package rules

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Documents that mean the same have no changes.
func TestDiffOfTheSameMeaning(t *testing.T) {
	current := parse(t, business)
	for _, pieces := range [][]string{
		nil,
		{"defaults: {on_error: local, instances: 20}\n", "# a comment\ndefaults: {instances: 20}\n"},
		{"unmatched: allow\n", ""},
		{"{cidrs: [198.51.100.0/24, 203.0.113.0/24]}", "{cidrs: [203.0.113.0/24]}\n  - {cidrs: [198.51.100.0/24]}"},
		{"  - {methods: [OPTIONS]}\n  - {methods: [GET], route: /health}", "  - {methods: GET, route: [/health]}\n  - {methods: options}"},
		{"route: [/v1/**, /v2/**], methods: [GET, POST]", "route: [/v2/**, /v1/**], methods: [POST, get]"},
		{"{jwt.plan: [pro, free], jwt.region: eu}", "{jwt.region: [eu], jwt.plan: [free, pro]}"},
		{"capacity: 20, window: 60s", "window: 1m, granularity: 1000ms, capacity: 20, cost: 1, algorithm: sliding_window"},
		{"[{algorithm: token_bucket, capacity: 10, window: 1s}]", "[{algorithm: token_bucket, capacity: 10, window: 1s, burst: 10}]"},
		{"refund_on: [5xx]", "refund_on: [5xx, 5xx]"},
		{"    mode: shadow", "    mode: shadow\n    headers: on\n    atomic: false"},
		{"key: ip:{ip}", "key: ip:{ip}\n    counter: anonymous"},
		{"    key: user:{jwt.sub}\n    overrides: true", "    key: user:{jwt.sub}\n    overrides: user:{jwt.sub}"},
		{"over: clamp, cost: {from: header.x-tokens", "over: clamp, cost: {from: header.X-Tokens"},
		{"until: 2026-12-31T00:00:00Z", "until: 2026-12-31T01:00:00+01:00"},
		{`{"tenant:acme": {capacity: 20000}, "tenant:slow": {limits: [{capacity: 5, window: 1s}]}}`,
			`{"tenant:slow": {limits: [{window: 1000ms, capacity: 5}]}, "tenant:acme": {capacity: 20000}}`},
		{"  pro: {api: 6000, chat: {requests: 60}}\n  free: {}", "  free: {}\n  pro: {chat: {requests: 60}, api: 6000}"},
	} {
		next := parse(t, edit(t, pieces...))
		if got := lines(changes(current, next)); got != nil {
			t.Errorf("%q:\n%s", pieces, strings.Join(got, "\n"))
		}
	}
}

// An override of a rule's only limit may name it or not.
func TestDiffOfAnOnlyLimitsName(t *testing.T) {
	const rule = "rules: [{name: r, key: 'ip:{ip}', overrides: true, limits: [{name: minute, capacity: 10, window: 60s}]}]\n"
	a, b := parse(t, rule+`overrides: {r: {"ip:198.51.100.7": {capacity: 5}}}`), parse(t, rule+`overrides: {r: {"ip:198.51.100.7": {capacity: {minute: 5}}}}`)
	if got := lines(changes(a, b)); got != nil {
		t.Errorf("%q", got)
	}
}

// The order of patterns matters only to keys with {route}: there the first pattern
// that matches is the value.
func TestDiffOfTheOrderOfPatterns(t *testing.T) {
	document := func(key, routes string) *Set {
		return parse(t, "rules: [{name: r, when: {route: "+routes+"}, key: '"+key+"', limits: [{capacity: 10, window: 60s}]}]")
	}
	for key, want := range map[string][]string{
		"ip:{ip}":       nil,
		"route:{route}": {"rule r, when: from {route: [/a/*, /*/b]} to {route: [/*/b, /a/*]}", "rule r: " + reset + " where the gateway names no route"},
	} {
		if diff := cmp.Diff(want, lines(changes(document(key, "[/a/*, /*/b]"), document(key, "[/*/b, /a/*]")))); diff != "" {
			t.Errorf("key %s (-want +got):\n%s", key, diff)
		}
	}
}

// A rule may continue counters that another rule has filled.
func TestDiffOfSharedCounters(t *testing.T) {
	document := func(a, b string) *Set {
		return parse(t, "rules: [{name: a, key: all, limits: [{capacity: 10, window: 60s}]"+a+"}, {name: b, key: all, limits: [{capacity: 10, window: 60s}]"+b+"}]")
	}
	apart, shared := document(", counter: x", ""), document(", counter: x", ", counter: x")
	if diff := cmp.Diff([]string{"rule b, counter: from none to x", "rule b: " + goOn}, lines(changes(apart, shared))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"rule b, counter: from x to none", "rule b: " + reset}, lines(changes(shared, apart))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// model ignores the fields of a set that derive from others.
var model = cmp.Options{
	cmpopts.IgnoreFields(Set{}, "document", "banned", "skipped", "index", "hashed"), cmpopts.IgnoreFields(Rule{}, "Places"), cmpopts.IgnoreFields(match.Selector{}, "networks"),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

var wide = flag.Bool("wide", false, "compare each pair of documents, as make test-wide does, not one of ten")

// For each pair of documents, there is a change where the models differ, and
// only there. Without -wide, each document meets the first one, from which the
// others were edited, its neighbour, and one of ten of the rest.
func TestDiffMissesNothing(t *testing.T) {
	documents := []string{business}
	for _, tt := range edits(t) {
		documents = append(documents, edit(t, tt.pieces...))
	}
	documents = append(documents, goodFiles(t)...)
	sets := make([]*Set, len(documents))
	for i, document := range documents {
		sets[i] = parse(t, document)
		if got := lines(changes(sets[i], parse(t, document))); got != nil {
			t.Errorf("a document differs from itself: %q\n%s", got, document)
		}
		if sets[i], _ = Compile(sets[i].Document()); sets[i] == nil {
			t.Fatal("a normal document is not valid")
		}
	}
	for i, a := range sets {
		for j, b := range sets[:i] {
			if !*wide && j > 0 && j < i-1 && (i+j)%10 != 0 {
				continue
			}
			changes, same := changes(a, b), cmp.Equal(a, b, inside, model, sameLimits)
			if same != (len(changes) == 0) {
				t.Errorf("documents are the same: %v, changes: %q\nof:\n%s\nand:\n%s", same, lines(changes), documents[i], documents[j])
			}
			checkCounterNames(t, a, b, changes)
		}
	}
}

// checkCounterNames compares the changes of counters with the names that stores
// have for them.
func checkCounterNames(t *testing.T, a, b *Set, changes []ruledoc.Change) {
	t.Helper()
	for _, c := range changes {
		if c.Kind != ruledoc.Counters {
			continue
		}
		before, _ := a.Rule(c.Rule)
		after, _ := b.Rule(c.Rule)
		same := item(before, "k") == item(after, "k") && before.template.String() == after.template.String() && before.Hashed() == after.Hashed()
		if c.From == c.To && !same || same && c.From != c.To && !strings.Contains(string(c.To), "{route}") && !after.Hashed() && len(after.anchors)+len(before.anchors) == 0 {
			t.Errorf("%v: the counters are %s and %s", c, item(before, "k"), item(after, "k"))
		}
	}
}

// goodFiles are the documents of the repository that parse.
func goodFiles(t testing.TB) (documents []string) {
	t.Helper()
	for _, pattern := range []string{"../../examples/*.yaml", "../../cmd/slidegate/internal/cli/testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files like %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := compileText(file, text); err == nil {
				documents = append(documents, string(text))
			}
		}
	}
	return documents
}
