package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Each of these took the YAML library minutes or a stack without end. They must be refused before it sees them, and what
// is just within the bounds must not be.
func TestBounds(t *testing.T) {
	rep := strings.Repeat
	keys := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name string
		make func(n int) string
		most int // the largest n that is taken
		want string
	}{
		{"bytes", func(n int) string { return "rules: [] #" + rep("x", n-11) }, maxDocument, "the document has 4194305 bytes, and 4194304 is the most"},
		{"marks", func(n int) string { return "rules: [] #" + rep(rep("-", 80)+"\n#", n/81) + rep("-", n%81-4) }, maxMarks, "too many values"},
		{"blank lines", func(n int) string { return "rules: []\n" + rep(" \n", n) + "# end\n" }, maxRun, "more than 64 blank lines in a row"},
		{"blank lines in a literal", func(n int) string { return "x: |\n" + rep("\n", n) + "  a\nrules: []\n" }, maxRun, "more than 64 blank lines in a row"},
		{"blank lines of old macs", func(n int) string { return "rules: []\r" + rep("\r", n) + "#" }, maxRun, "more than 64 blank lines in a row"},
		{"angles", func(n int) string { return "rules: [] # é" + rep("<", n) }, maxRun, "more than 64 < in a row"},
		{"brackets", func(n int) string { return "x: " + rep("[", n-1) + rep("]", n-1) + "\nrules: []" }, maxDepth, "more than 32 maps and lists within each other"},
		{"braces", func(n int) string { return rep("{x: ", n) + "1" + rep("}", n) }, maxDepth, "more than 32 maps and lists within each other"},
		{"dashes", func(n int) string { return rep("- ", n) + "x" }, maxDepth, "more than 32 maps and lists within each other"},
		{"indentation", func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(rep(" ", i) + "x:\n")
			}
			return b.String() + rep(" ", n) + "1"
		}, maxDepth, "more than 32 maps and lists within each other"},
		{"keys", func(n int) string { return keys(n, "k%d: 1\n") }, maxEntries, "more than 16384 entries in one map or list"},
		{"quoted keys", func(n int) string { return keys(n, "'k%d' : 1 # x\n") }, maxEntries, "more than 16384 entries in one map or list"},
		{"keys below", func(n int) string { return "x:\n" + keys(n, "  k%d:\n  - 1\n") }, maxEntries, "more than 16384 entries in one map or list"},
		{"keys of many maps", func(n int) string { // 8 maps of 8,192 keys come to the bound
			return strings.Repeat("- "+strings.ReplaceAll(strings.TrimSpace(keys(8192, "k%d: 1\n")), "\n", "\n  ")+"\n", 8) + keys(n, "k%d: 1\n")
		}, 0, "the maps have too many keys together"},
		{"keys in braces", func(n int) string { return "{" + keys(n, "k%d: 1, ") + "}" }, maxEntries, "more than 16384 entries in one map or list"},
		{"list", func(n int) string { return rep("- 1\n", n) }, maxEntries, "more than 16384 entries in one map or list"},
		{"list in brackets", func(n int) string { return "[" + rep("1, ", n) + "1]" }, maxEntries, "more than 16384 entries in one map or list"},
		{"empty entries", func(n int) string { return rep("-\n", n) + "- 1" }, maxEmpty, "more than 1000 entries without a value"},
		{"empty values", func(n int) string { return rep("- x:\n", n) }, maxEmpty, "more than 1000 entries without a value"},
		{"names in braces", func(n int) string { return "{" + rep("x, ", n) + "}" }, maxEmpty, "more than 1000 entries without a value"},
		{"empty values in braces", func(n int) string { return "{" + rep("x: , ", n) + "}" }, maxEmpty, "more than 1000 entries without a value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, err := readText([]byte(tt.make(tt.most)))
			if refused := checkStructure(tokenize(text)); err != nil || len(refused) > 0 {
				t.Errorf("%d are refused: %.200v%.200v", tt.most, err, refused)
			}
			_, refused := read(t, "f", tt.make(tt.most+1))
			if refused == nil || !strings.Contains(refused.Error(), tt.want) {
				t.Errorf("%d: error %.200v, want %q", tt.most+1, refused, tt.want)
			}
		})
	}
}

// Long lists of plain values are no mistake.
func TestManyEntries(t *testing.T) {
	var b strings.Builder
	b.WriteString("deny:\n  - cidrs: [")
	for i := range 5000 {
		fmt.Fprintf(&b, "10.%d.%d.0/24, ", i/256, i%256)
	}
	b.WriteString("]\nrules:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  - name: r%d\n    key: ip:{ip}\n    limits: # of rule %d\n      - {capacity: 10, window: 60s}\n", i, i)
	}
	s := parse(t, b.String())
	if len(s.Rules) != 2000 || len(s.deny[0].cidrs) != 5000 {
		t.Errorf("%d rules and %d networks", len(s.Rules), len(s.deny[0].cidrs))
	}
}

// manyOverrides is a document with as many overrides for one rule.
func manyOverrides(n int) string {
	var b strings.Builder
	b.WriteString("rules: [{name: api, key: 'user:{jwt.sub}', overrides: true, limits: [{capacity: 10, window: 60s}]}]\noverrides:\n  api:\n")
	for i := range n {
		fmt.Fprintf(&b, "    \"user:auth0|%d\": {capacity: %d, until: 2030-01-01T00:00:00Z, why: ticket %d}\n", i, i+1, i)
	}
	return b.String()
}

// Ten thousand customers with limits of their own fit into one file.
func TestManyOverrides(t *testing.T) {
	s, err := Parse("f", []byte(manyOverrides(10_000)))
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

func BenchmarkParseOverrides(b *testing.B) {
	document := []byte(manyOverrides(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("f", document); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
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
		for _, e := range err.(Errors) {
			if e.Line < 1 || e.Column < 1 || e.Reason == "" || strings.ContainsAny(e.Error(), "\n\r\x1b") {
				t.Errorf("error %#v", e)
			}
		}
	})
}

// checkTerms holds what stores rely on.
func checkTerms(t *testing.T, r *Rule, plan string, o *Override) Terms {
	t.Helper()
	terms := r.Terms(&Request{}, plan, o, time.Time{})
	if terms.Unlimited || terms.Denied {
		return terms
	}
	if err := (&limit.Charge{Key: r.Item("k", &terms), Limits: terms.Limits, Costs: terms.Costs}).Check(); err != nil || terms.Misfit {
		t.Errorf("misfit %t, %v", terms.Misfit, err)
	}
	for i := range terms.Limits {
		if terms.Settles(i) && !terms.Limits[i].Correctable() {
			t.Errorf("%+v settles", terms.Limits[i])
		}
	}
	return terms
}

// checkSet holds what the rest of the program relies on.
func checkSet(t *testing.T, s *Set) {
	names := map[string]bool{}
	for _, r := range s.Rules {
		if names[r.Name] || !ruleName.MatchString(r.Name) {
			t.Errorf("rule name %q", r.Name)
		}
		names[r.Name] = true
		if len(r.Limits) == 0 || len(r.Limits) > 8 || len(r.Costs) != len(r.Limits) {
			t.Errorf("%d limits and %d costs", len(r.Limits), len(r.Costs))
		}
		for i, l := range r.Limits {
			if l.Window < 100*time.Millisecond || r.Costs[i].unpayable(l.Most()) || i > 0 && r.Limits[i-1].Name >= l.Name {
				t.Errorf("limit %+v, cost %+v", l, r.Costs[i])
			}
		}
		for _, plan := range append(s.plans, "") {
			own := checkTerms(t, r, plan, nil)
			for key, o := range s.overrides[r.Name] {
				about := r.written()
				if got, err := about.read(key); got != key {
					t.Errorf("key %q of %s reads %q, %v", key, r.overridable.text(), got, err)
				}
				terms := checkTerms(t, r, plan, o)
				for i := range terms.Limits {
					if r.lowersOnly && !own.Unlimited && (terms.Unlimited || terms.Limits[i].Capacity > own.Limits[i].Capacity) {
						t.Errorf("the client's key loosens %+v to %+v", own, terms)
					}
				}
			}
		}
		key := string(r.AppendKey(nil, &Request{}))
		if got, err := s.KeysFor(r, key, &Request{}); got.Counter != key || err != nil {
			t.Errorf("key %q of template %q is read as %+v, %v", key, r.Key, got, err)
		}
	}
}
