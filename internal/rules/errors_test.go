package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// One document has every mistake that has a message. The golden file has all
// messages with their positions.
func TestEveryErrorAtOnce(t *testing.T) {
	document, err := os.ReadFile("testdata/bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := read(t, "bad.yaml", string(document))
	if s != nil || err == nil {
		t.Fatalf("got a set %v and error %v", s, err)
	}
	golden.Check(t, "testdata/bad.golden", err.Error()+"\n")
}

// These mistakes need care with their position or their text.
func TestPositions(t *testing.T) {
	const head = "rules:\n  - name: r\n"
	const limits = "    limits: [{capacity: 10, window: 60s}]\n"
	for _, tt := range []struct{ name, document, want string }{
		{"character columns", "rules: []\n\"é\": 1\n", "f:2:1: é: unknown field: there are defaults, client_ip, authentication, unmatched, ambiguous_paths, headers, retry_jitter, denied, deny, skip, hash_secret, plan, rules, plans and overrides"},
		{"after CRLF and comments", "# one\r\n# two\r\nrules: # three\r\n  - name: r\r\n    key: all\r\n    limits: [{capacity: x, window: 60s}]\r\n",
			"f:6:25: rules[0].limits[0].capacity: must be a whole number in plain digits without quotes, such as 10"},
		{"map in a list", "rules:\n  -\n    name: r\n    key: all\n", "f:3:5: rules[0]: a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]"},
		{"misspelled field is read all the same", head + "    key: all\n    limts: [{capacity: 0, window: 60s}]\n",
			"f:4:5: rules[0].limts: unknown field: did you mean limits?\n" +
				"f:4:24: rules[0].limits[0].capacity: 0 is out of range: write a number from 1 to 4294967295"},
		{"misspelled beside the right one", head + "    key: all\n" + limits + "    limts: 7\n",
			"f:5:5: rules[0].limts: unknown field: did you mean limits?"},
		{"literal", head + "    key: |\n      a\n" + limits, `f:3:10: rules[0].key: '\n' cannot stand in a key's own text: use printable ASCII without %, { and }`},
		{"unquoted key", head + "    key: {header.x-user}\n" + limits, "f:3:10: rules[0].key: {header.x-user} without quotes is a YAML map: write \"{header.x-user}\""},
		{"key is a map", head + "    key: {ip: x}\n" + limits, "f:3:10: rules[0].key: must be text, such as \"ip:{ip}\", and is a map"},
		{"cost of the rule", head + "    key: all\n    cost: 11\n" + limits, "f:4:11: rules[0].cost: 11 is above the capacity 10 of rules[0].limits[0], so no request would ever be allowed: lower the cost, raise the capacity, or write over: clamp in the limit"},
		{"what is quoted stays on its line", "rules: []\nunmatched: \"a\\nb\\e[31m\"\n", `f:2:12: unmatched: unknown value "a\nb\x1b[31m": write allow or deny`},
		{"names too", "rules: []\noverrides: {\"a\\nb\": 1}\n", "f:2:13: overrides.a\\nb: there is no rule \"a\\nb\": there are no others\n" + `f:2:21: overrides.a\nb: must be a map, such as {"user:241531": {capacity: 100}}, and is a number`},
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

// A cost may be 0, and may be the whole capacity.
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

// TestMistakes compares what is wrong with documents to the tables in
// testdata/mistakes. The first line of a table is a document, with @ for what
// differs between its cases. A case is a line with that, and then its errors, each
// after a tab; ok stands for none. A line that begins with # is a comment.
func TestMistakes(t *testing.T) {
	check := map[string]func(testing.TB, string) error{"override.txt": mistakeInOverride, "check_override.txt": misfitOfOverride}
	files, err := filepath.Glob("testdata/mistakes/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			find := check[filepath.Base(file)]
			if find == nil {
				find = mistakeInDocument
			}
			table, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			frame, cases, _ := strings.Cut(string(table), "\n")
			var got strings.Builder
			for line := range strings.Lines(cases) {
				if strings.HasPrefix(line, "\t") {
					continue
				}
				got.WriteString(line)
				if input := strings.TrimSuffix(line, "\n"); input != "" && !strings.HasPrefix(input, "#") {
					got.WriteString(outcome(find(t, strings.Replace(frame, "@", input, 1))))
				}
			}
			if diff := cmp.Diff(cases, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// outcome writes an error as a table has it.
func outcome(err error) string {
	if err == nil {
		return "\tok\n"
	}
	return "\t" + strings.ReplaceAll(err.Error(), "\n", "\n\t") + "\n"
}

// mistakeInDocument compiles a document. Stores must accept the limits of a good
// one.
func mistakeInDocument(t testing.TB, document string) error {
	s, err := read(t, "f", document)
	if err != nil {
		return err
	}
	for _, r := range s.Rules {
		if err := (&limit.Charge{Key: "k", Limits: r.Limits, Costs: own(r).Costs}).Check(); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
	return nil
}

// mistakeInOverride compiles an override.
func mistakeInOverride(_ testing.TB, document string) error {
	_, err := parseOverride("o", []byte(document))
	return err
}

// misfitOfOverride checks an override of one of the kinds: rule, key, override.
func misfitOfOverride(t testing.TB, line string) error {
	rule, rest, _ := strings.Cut(line, " ")
	key, document, _ := strings.Cut(rest, " ")
	o, err := parseOverride("o", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, kinds).CheckOverride(rule, key, o)
}
