package rules

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// One document holds every mistake there is a message for; the golden file holds them all, each at its place.
func TestEveryErrorAtOnce(t *testing.T) {
	document, err := os.ReadFile("testdata/bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := read(t, "bad.yaml", string(document))
	if s != nil || err == nil {
		t.Fatalf("got a set %v and error %v", s, err)
	}
	got := err.Error() + "\n"
	if *update {
		if err := os.WriteFile("testdata/bad.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/bad.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrorTypes(t *testing.T) {
	_, err := read(t, "a.yaml", "rules:\n  - {name: r, key: all, limits: [{capacity: 0, window: 60s}], burst: 1}\n")
	var all Errors
	if !errors.As(err, &all) || len(all) != 2 {
		t.Fatalf("got %v, want two errors", err)
	}
	var first *Error
	if !errors.As(err, &first) {
		t.Fatal("no *Error in it")
	}
	want := &Error{File: "a.yaml", Line: 2, Column: 45, Path: "rules[0].limits[0].capacity", Reason: "0 is out of range: write a number from 1 to 4294967295"}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := first.Error(), "a.yaml:2:45: rules[0].limits[0].capacity: 0 is out of range: write a number from 1 to 4294967295"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Text that is no plain YAML: one message, with the place and the way out.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct{ name, document, want string }{
		{"empty", "", "f:1:1: the document is empty: it needs at least a list of rules"},
		{"comments", "# nothing yet\n", "f:1:1: the document is empty: it needs at least a list of rules"},
		{"null", "~", "f:1:1: must be a map with fields such as \"defaults:\", and is empty"},
		{"word", "rules", "f:1:1: must be a map with fields such as \"defaults:\", and is text"},
		{"list", "- rules", "f:1:1: must be a map with fields such as \"defaults:\", and is a list"},
		{"no rules", "unmatched: deny\n", "f:1:1: rules is missing: write rules: [] if the document is meant to limit nothing"},
		{"tab", "rules:\n\t- name: r\n", `f:2:1: not YAML: found character '\t' that cannot start any token`},
		{"open quote", "rules: []\nunmatched: 'deny\n", "f:2:12: not YAML: could not find end character of single-quoted text"},
		{"open bracket", "rules: [1, 2\nunmatched: deny\n", "f:2:1: not YAML: ',' or ']' must be specified"},
		{"crooked", "rules: []\n  unmatched: deny\n", "f:2:3: not YAML: value is not allowed in this context"},
		{"glued", "unmatched: deny: x\nrules: []\n", "f:1:12: not YAML: mapping value is not allowed in this context"},
		{"two keys", "rules:\n  - key: {ip}:{stage}\n", "f:2:14: not YAML: value is not allowed in this context; put the key in quotes, such as key: \"ip:{ip}\""},
		{"two keys, bar", "rules:\n  - key: {ip}|{stage}\n", "f:2:14: not YAML: invalid header option: \"{stage}\"; put the key in quotes, such as key: \"ip:{ip}\""},
		{"key in braces", "rules:\n  - {name: r, key: ip:{ip}}\n", "f:2:23: not YAML: ',' or '}' must be specified; put the key in quotes, such as key: \"ip:{ip}\""},
		{"second document", "rules: []\n---\nrules: []\n", "f:2:1: a second document begins here: a file holds one"},
		{"after the end", "rules: []\n...\nunmatched: deny\n", "f:3:1: a second document begins here: a file holds one"},
		{"anchor and alias", "a: &x 1\nb: *x\n", "f:1:4: anchors are not supported: write the value out wherever it is used, or quote text that begins with &\n" +
			"f:2:4: aliases are not supported: write the value out, or quote text that begins with *"},
		{"merge", "rules: []\n<<: {unmatched: deny}\n", "f:2:1: merge keys are not supported: write the fields out"},
		{"tag", "rules: !!seq []\n", "f:1:8: tags are not supported: write the plain value, or quote text that begins with !"},
		{"tag at the end", "rules: []\n!deny", "f:2:1: tags are not supported: write the plain value, or quote text that begins with !"},
		{"directive", "%YAML 1.2\n---\nrules: []\n", "f:1:1: directives are not supported: remove it, or quote text that begins with %"},
		{"question", "? rules\n: []\n", "f:1:1: keys that begin with ? are not supported: write \"name: value\", or quote text that begins with ?"},
		{"dash in brackets", "rules: [- name: r]\n", "f:1:9: an entry that begins with - cannot stand in brackets: separate entries with commas"},
		{"not UTF-8", "rules: []\n# caf\xe9\n", "f:2:6: is not UTF-8: save the file as UTF-8"},
		{"UTF-16", "\xff\xfer\x00", "f:1:1: is not UTF-8: save the file as UTF-8"},
		{"control character", "rules: []\n# é\x00\n", `f:2:4: the control character '\x00' has no place here: remove it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, "f", tt.document)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Single mistakes whose place or wording is easy to get wrong.
func TestPlaces(t *testing.T) {
	const head = "rules:\n  - name: r\n"
	const limits = "    limits: [{capacity: 10, window: 60s}]\n"
	for _, tt := range []struct{ name, document, want string }{
		{"character columns", "rules: []\n\"é\": 1\n", "f:2:1: é: unknown field: there are defaults, client_ip, unmatched, deny, skip, hash_secret, plan, rules, plans and overrides"},
		{"after CRLF and comments", "# one\r\n# two\r\nrules: # three\r\n  - name: r\r\n    key: all\r\n    limits: [{capacity: x, window: 60s}]\r\n",
			"f:6:25: rules[0].limits[0].capacity: must be a whole number in plain digits without quotes, such as 10"},
		{"map in a list", "rules:\n  -\n    name: r\n    key: all\n", "f:3:5: rules[0]: limits is missing: write limits: [{capacity: 10, window: 60s}]"},
		{"misspelled field is read all the same", head + "    key: all\n    limit: [{capacity: 0, window: 60s}]\n",
			"f:4:5: rules[0].limit: unknown field: did you mean limits?\n" +
				"f:4:24: rules[0].limit[0].capacity: 0 is out of range: write a number from 1 to 4294967295"},
		{"misspelled beside the right one", head + "    key: all\n" + limits + "    limit: 7\n",
			"f:5:5: rules[0].limit: unknown field: did you mean limits?"},
		{"literal", head + "    key: |\n      a\n" + limits, `f:3:10: rules[0].key: '\n' cannot stand in a key's own text: use printable ASCII without %, { and }`},
		{"unquoted key", head + "    key: {header.x-user}\n" + limits, "f:3:10: rules[0].key: {header.x-user} without quotes is a YAML map: write \"{header.x-user}\""},
		{"key is a map", head + "    key: {ip: x}\n" + limits, "f:3:10: rules[0].key: must be text, such as \"ip:{ip}\", and is a map"},
		{"cost of the rule", head + "    key: all\n    cost: 11\n" + limits, "f:4:11: rules[0].cost: 11 is above the capacity 10 of rules[0].limits[0], so no request would ever be allowed: lower the cost, raise the capacity, or write over: clamp in the limit"},
		{"what is quoted stays on its line", "rules: []\nunmatched: \"a\\nb\\e[31m\"\n", `f:2:12: unmatched: unknown value "a\nb\x1b[31m": write allow or deny`},
		{"names too", "rules: []\n\"a\\nb\": 1\n", `f:2:1: a\nb: unknown field: there are defaults, client_ip, unmatched, deny, skip, hash_secret, plan, rules, plans and overrides`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, "f", tt.document)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // 0 for an error
	}{
		{"1", 1}, {"4294967295", 4294967295}, {"4294967296", 0}, {"99999999999999999999", 0},
		{"0", 0}, {"-1", 0}, {"--1", 0}, {"-", 0}, {"+1", 0}, {"010", 0}, {"0x10", 0}, {"0o7", 0}, {"0b1", 0}, {"1_000", 0},
		{"1.0", 0}, {"1e3", 0}, {"\"1\"", 0}, {"'1'", 0}, {".inf", 0}, {".nan", 0}, {"true", 0}, {"~", 0}, {"", 0}, {"[1]", 0}, {"{a: 1}", 0},
	} {
		s, err := read(t, "f", "rules: [{name: r, key: all, limits: [{window: 1s, capacity: "+tt.text+"}]}]")
		switch {
		case tt.want == 0 && err == nil:
			t.Errorf("capacity %q: got %d, want an error", tt.text, s.Rules[0].Limits[0].Capacity)
		case tt.want != 0 && err != nil:
			t.Errorf("capacity %q: %v", tt.text, err)
		case tt.want != 0 && s.Rules[0].Limits[0].Capacity != tt.want:
			t.Errorf("capacity %q: got %d", tt.text, s.Rules[0].Limits[0].Capacity)
		}
	}
}

// A cost of nothing is fine, and so is one that takes the whole capacity.
func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   []int64
	}{
		{"limits: [{capacity: 10, window: 1s}]", []int64{1}},
		{"limits: [{capacity: 10, window: 1s, cost: 0}]", []int64{0}},
		{"cost: 10, limits: [{capacity: 10, window: 1s}]", []int64{10}},
		{"limits: [{capacity: 10, window: 1s}], cost: 3", []int64{3}},
		{"cost: 3, limits: [{name: b, capacity: 10, window: 1s}, {name: a, capacity: 10, window: 1s, cost: 7}]", []int64{7, 3}},
		{"cost: 30, limits: [{name: b, capacity: 10, window: 1s, cost: 1}, {name: a, capacity: 10, window: 1s, cost: 7}]", []int64{7, 1}},
	} {
		r := parse(t, "rules: [{name: r, key: all, "+tt.fields+"}]").Rules[0]
		if diff := cmp.Diff(tt.want, costs(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}

func TestRuleNames(t *testing.T) {
	for _, tt := range []struct {
		name string
		ok   bool
	}{
		{"a", true}, {"per-ip", true}, {"9-lives", true}, {strings.Repeat("a", 63), true},
		{strings.Repeat("a", 64), false}, {"-a", false}, {"A", false}, {"a b", false}, {"a|b", false}, {"a_b", false}, {"é", false}, {"", false}, {"a\\n", false},
	} {
		_, err := read(t, "f", "rules: [{name: \""+tt.name+"\", key: all, limits: [{capacity: 1, window: 1s}]}]")
		if (err == nil) != tt.ok {
			t.Errorf("name %q: error %v, want ok %t", tt.name, err, tt.ok)
		}
	}
}

func TestClosest(t *testing.T) {
	known := []string{"name", "when", "key", "limits", "cost", "on_error"}
	for _, tt := range []struct{ word, want string }{
		{"limit", "limits"}, {"on-error", "on_error"}, {"onerror", "on_error"}, {"nmae", "name"}, {"costs", "cost"},
		{"retries", ""}, {"x", ""}, {"", ""}, {"wh", ""}, {strings.Repeat("limits", 1000), ""},
	} {
		if got := closest(tt.word, known); got != tt.want {
			t.Errorf("closest(%.20q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
