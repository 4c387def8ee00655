package rules

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

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

// Every field that a document may have is in the table.
func TestDocumentedFields(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var d decoder
	for _, f := range d.limitFields(&stated{}, true, names{}) {
		if !strings.Contains(string(text), "\n| `limits[]."+f.name+"` |") {
			t.Errorf("limits[].%s is not in docs/rules.md", f.name)
		}
	}
}
