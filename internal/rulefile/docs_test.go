package rulefile

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

// fieldPrefixes are the texts before field names in the tables of docs/rules.md,
// by the place of the fields in the schema.
var fieldPrefixes = map[string]string{
	"": "", "/$defs/defaults": "defaults.", "/$defs/denied": "denied.", "/$defs/clientIP": "client_ip.", "/$defs/proxySecret": "client_ip.secret.",
	"/$defs/authentication": "authentication.", "/$defs/tokenIssuer": "authentication.jwt[].", "/$defs/keySource": "authentication.api_key.",
	"/$defs/hashSecret": "hash_secret.", "/$defs/selector": "when.", "/$defs/planSource": "plan.", "/$defs/rule": "rules[].",
	"/$defs/cost/anyOf/1": "cost.", "/$defs/limit/anyOf/1": "limits[].", "/$defs/anchor/anyOf/1": "anchor.", "/$defs/override": "overrides.",
	"/$defs/overrideLimit/anyOf/1": "limits[].", "/$defs/planOverride": "overrides.",
}

// Every field that a document may have is in a table, and every field in a table
// is one that a document may have.
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
		prefix, ok := fieldPrefixes[tt.pointer]
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
