package rules

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
)

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The examples of the documentation are good, draw no warning, and show every algorithm.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, example := range block.FindAllStringSubmatch(string(text), -1) {
		s := parse(t, example[1])
		for _, w := range s.Warnings {
			t.Errorf("%s\nof:\n%s", w, example[1])
		}
		for _, r := range s.Rules {
			for _, l := range r.Limits {
				shown[l.Algorithm.String()] = true
			}
		}
	}
	want := slices.Clone(limit.Algorithms())
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, want) {
		t.Errorf("the examples show %v, want %v", got, want)
	}
	for _, name := range want {
		if !strings.Contains(string(text), "\n| `"+name+"` |") || !strings.Contains(string(text), "\n**`"+name+"`** ") {
			t.Errorf("nothing is said of %s", name)
		}
	}
}

// tables are what the tables put before the names of fields, by the place of the fields in the schema.
var tables = map[string]string{
	"": "", "/properties/defaults": "defaults.", "/properties/client_ip": "client_ip.", "/properties/client_ip/properties/secret": "client_ip.secret.",
	"/properties/hash_secret": "hash_secret.",
	"/$defs/selector":         "when.", "/properties/plan": "plan.", "/properties/rules/items": "rules[].", "/$defs/cost/anyOf/1": "cost.", "/$defs/limit": "limits[].",
	"/$defs/limit/properties/anchor/anyOf/1": "anchor.", "/$defs/override": "overrides.", "/$defs/overrideLimit": "limits[].", "/$defs/planOverride": "overrides.",
}

// Every field that a document may have is in a table, and every field in a table is one that a document may have.
func TestDocumentedFields(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, tt := range placesOfFields {
		prefix, ok := tables[tt.pointer]
		if !ok {
			t.Errorf("no table for %s", tt.pointer)
		}
		for name := range at(t, schema, tt.pointer)["properties"].(map[string]any) {
			known[prefix+name] = true
		}
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_.\\[\\]]+`(?:, `[a-z_.\\[\\]]+`)*) \\|").FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			documented[strings.Trim(name, "`")] = true
		}
	}
	for _, name := range append([]string{"algorithm"}, limit.Algorithms()...) { // a table of their own
		delete(documented, name)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("fields (-known +documented):\n%s", diff)
	}
}

// Every kind of thing that a document can say is shown.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := ""
	for _, example := range block.FindAllStringSubmatch(string(text), -1) {
		examples += example[1]
	}
	for _, word := range []string{"client_ip:", "hash_secret:", "hash: true", "plan:", "plans:", "overrides:", "caller:", "match:", "unless:", "cost: {from:", "settle:", "trusted:", "mode:",
		"refund_on:", "candidate:", "anchor: {from:", "atomic:", "until:", "why:", "deny: true", "unlimited: true", "limits: [{", "unlimited,"} {
		if !strings.Contains(examples, word) {
			t.Errorf("no example has %s", word)
		}
	}
}
