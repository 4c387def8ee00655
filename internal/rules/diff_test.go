package rules

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// business is a document with nearly every field. Each test changes a piece of it.
const business = `
defaults: {on_error: local, instances: 20}
client_ip: {trusted_hops: 1}
unmatched: allow
deny:
  - {cidrs: [198.51.100.0/24, 203.0.113.0/24]}
skip:
  - {methods: [OPTIONS]}
  - {methods: [GET], route: /health}
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans:
  pro: {api: 6000, chat: {requests: 60}}
  free: {}
rules:
  - name: anonymous
    when: {caller: anonymous}
    key: ip:{ip}
    limits: [{capacity: 20, window: 60s}]
  - name: api
    when: {route: [/v1/**, /v2/**], methods: [GET, POST], caller: known, match: {jwt.plan: [pro, free], jwt.region: eu}}
    unless: {route: /v1/hooks/**}
    key: tenant:{jwt.tenant}|user:{jwt.sub}
    limits: [{capacity: 100, window: 60s, candidate: 80%}]
    overrides: tenant:{jwt.tenant}
  - name: chat
    when: {methods: [POST], route: /v1/chat, caller: known}
    key: user:{jwt.sub}
    overrides: true
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 4000, window: 60s, over: clamp, cost: {from: header.x-tokens, min: 500, max: 4000, settle: true}}
  - name: export
    when: {route: /v1/export}
    key: tenant:{jwt.tenant}
    limits: [{name: month, algorithm: fixed_window, capacity: 100, window: 1mo, timezone: Europe/Berlin, anchor: {from: jwt.day, default: 1}}]
    refund_on: [5xx]
    mode: shadow
  - name: burst
    key: route:{route}
    limits: [{algorithm: token_bucket, capacity: 10, window: 1s}]
    on_error: allow
overrides:
  plan: {"user:777": {plan: pro, until: 2026-12-31T00:00:00Z, why: launch week}}
  api: {"tenant:acme": {capacity: 20000}, "tenant:slow": {limits: [{capacity: 5, window: 1s}]}}
  chat: {"user:666": {deny: true, why: ticket 81}}
`

// edit replaces pieces of the document, given in pairs: old, new, old, new … Each
// old piece must occur once.
func edit(t testing.TB, pieces ...string) string {
	t.Helper()
	document := business
	for i := 0; i < len(pieces); i += 2 {
		if n := strings.Count(document, pieces[i]); n != 1 {
			t.Fatalf("%q is there %d times", pieces[i], n)
		}
		document = strings.Replace(document, pieces[i], pieces[i+1], 1)
	}
	return document
}

func lines(changes []ruledoc.Change) (lines []string) {
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	return lines
}

const (
	reset = "its counters start at zero"
	goOn  = "it continues counters that exist"
)

// change is an edit of the document: pieces of it with their replacements, and
// what changes by it.
type change struct {
	name         string
	pieces, want []string
}

// edits reads testdata/changes.txt. An edit is a line with its name, pairs of an
// old and a new piece after - and +, quoted as in Go, and the changes, each after a
// tab.
func edits(t *testing.T) (all []change) {
	t.Helper()
	text, err := os.ReadFile("testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			all = append(all, change{name: name})
			continue
		}
		last := &all[len(all)-1]
		if want, ok := strings.CutPrefix(line, "\t"); ok {
			last.want = append(last.want, want)
			continue
		}
		piece, err := strconv.Unquote(line[len("- "):])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		last.pieces = append(last.pieces, piece)
	}
	return all
}

func TestDiff(t *testing.T) {
	current := parse(t, business)
	for _, tt := range edits(t) {
		t.Run(tt.name, func(t *testing.T) {
			next := parse(t, edit(t, tt.pieces...))
			if diff := cmp.Diff(tt.want, lines(changes(current, next))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(changes(next, current)); n != len(tt.want) {
				t.Errorf("%d changes there, and %d back: %q", len(tt.want), n, lines(changes(next, current)))
			}
		})
	}
}

func TestChangesAsJSON(t *testing.T) {
	changes := changes(parse(t, business), parse(t, edit(t, "capacity: 10, window: 60s", "capacity: 10, window: 30s", "{deny: true, why: ticket 81}", "{unlimited: true}")))
	got, err := json.Marshal(changes)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"kind":"changed","rule":"chat","limit":"requests","field":"window","from":"1m","to":"30s","counters_reset":false},` +
		`{"kind":"changed","rule":"chat","limit":"requests","field":"granularity","from":"1s","to":"500ms","counters_reset":false},` +
		`{"kind":"counters","rule":"chat","from":{"counter":"chat","key":"user:{jwt.sub}","limits":[{"name":"requests","window":"1m","granularity":"1s"},{"name":"tokens","window":"1m","granularity":"1s"}]},` +
		`"to":{"counter":"chat","key":"user:{jwt.sub}","limits":[{"name":"requests","window":"30s","granularity":"500ms"},{"name":"tokens","window":"1m","granularity":"1s"}]},"counters_reset":true},` +
		`{"kind":"changed","rule":"chat","field":"overrides","key":"user:666","from":{"deny":true,"why":"ticket 81"},"to":{"unlimited":true},"counters_reset":true}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOfTheOrderOfRules(t *testing.T) {
	for _, tt := range []struct{ current, next, want string }{
		{"abc", "abc", ""},
		{"abc", "bca", "rules are charged in another order: from [a, b, c] to [b, c, a]"},
		{"abc", "cb", "rules are charged in another order: from [b, c] to [c, b], rule a: removed"},
		{"abc", "ac", "rule b: removed"},
		{"abcd", "abxcd", "rule x: added"},
		{"", "a", "rule a: added"},
		{"a", "", "rule a: removed"},
	} {
		var got []string
		for _, line := range lines(changes(inOrder(t, tt.current), inOrder(t, tt.next))) {
			line, _, _ = strings.Cut(line, ": {")
			got = append(got, line)
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s to %s: %q, want %q", tt.current, tt.next, got, tt.want)
		}
	}
}

// inOrder returns a document of rules whose names are letters.
func inOrder(t testing.TB, names string) *Set {
	var rules []string
	for _, name := range names {
		rules = append(rules, "{name: "+string(name)+", key: all, limits: [{capacity: 10, window: 60s}]}")
	}
	return parse(t, "rules: ["+strings.Join(rules, ", ")+"]")
}

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

// Changes of documents of one or two rules.
func TestDiffOfRules(t *testing.T) {
	routes := func(key, routes string) string {
		return "{name: r, when: {route: " + routes + "}, key: '" + key + "', limits: [{capacity: 10, window: 60s}]}"
	}
	shared := func(b string) string {
		const rest = ", key: all, limits: [{capacity: 10, window: 60s}]}"
		return "{name: a, counter: x" + rest + ", {name: b" + b + rest
	}
	overridden := func(capacity string) string {
		return "{name: r, key: 'ip:{ip}', overrides: true, limits: [{name: minute, capacity: 10, window: 60s}]}], " +
			"overrides: {r: {'ip:198.51.100.7': {capacity: " + capacity + "}}}, deny: ["
	}
	for what, tt := range map[string]struct {
		from, to string
		want     []string
	}{
		"an override may name the rule's only limit": {overridden("5"), overridden("{minute: 5}"), nil},
		"patterns in another order":                  {routes("ip:{ip}", "[/a/*, /*/b]"), routes("ip:{ip}", "[/*/b, /a/*]"), nil},
		"the first pattern that matches is the key": {routes("route:{route}", "[/a/*, /*/b]"), routes("route:{route}", "[/*/b, /a/*]"),
			[]string{"rule r, when: from {route: [/a/*, /*/b]} to {route: [/*/b, /a/*]}",
				"rule r: " + reset + " where the gateway names no route"}},
		"it goes on with counters another rule filled": {shared(""), shared(", counter: x"),
			[]string{"rule b, counter: from none to x", "rule b: " + goOn}},
		"it no longer shares the counters of another one": {shared(", counter: x"), shared(""),
			[]string{"rule b, counter: from x to none", "rule b: " + reset}},
	} {
		got := lines(changes(parse(t, "{rules: ["+tt.from+"]}"), parse(t, "{rules: ["+tt.to+"]}")))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
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
