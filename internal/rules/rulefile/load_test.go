package rulefile_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// readAll returns the texts of the files that match patterns, each of which some do.
func readAll(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files like %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = string(text)
		}
	}
	return texts
}

// pages returns the text of the pages about rules.
func pages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, page := range []string{"rules.md", "cookbook.md", "authentication.md", "authorizer.md", "identity.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The examples of the documentation are good, draw no warning, and show every algorithm.
func TestDocumentation(t *testing.T) {
	text := pages(t)
	shown := map[string]bool{}
	for _, example := range block.FindAllStringSubmatch(text, -1) {
		s, err := rulefile.Parse("example", []byte(example[1]))
		if err != nil {
			t.Fatalf("%v\nof:\n%s", err, example[1])
		}
		for _, w := range s.Warnings {
			t.Errorf("%s\nof:\n%s", w, example[1])
		}
		for _, r := range s.Rules {
			for _, l := range r.Limits {
				if l.Algorithm != limit.InFlight { // which no field algorithm names
					shown[l.Algorithm.String()] = true
				}
			}
		}
	}
	want := slices.Clone(limit.Algorithms())
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, want) {
		t.Errorf("the examples show %v, want %v", got, want)
	}
	for _, name := range want {
		if !strings.Contains(text, "\n| `"+name+"` |") || !strings.Contains(text, "\n**`"+name+"`** ") {
			t.Errorf("docs/rules.md does not explain %s", name)
		}
	}
}

// verifiedKey matches a key that comes from verified claims or an API key alone.
var verifiedKey = regexp.MustCompile(`^[^{}]*(\{(jwt\.[^{}]*|apikey)\}[^{}]*)+$`)

// deploying matches the pages that put an API behind its first rules.
var deploying = regexp.MustCompile(`/(start/.*|deploy|constructs/README)\.md$`)

// At night, an operator raises one customer by a grant, which needs overrides: true
// in the rule. Rules that users copy have it where an issuer or an operator states
// the key, and so have those with which the pages deploy.
func TestPrintedRulesTakeGrants(t *testing.T) {
	const top = "../../../"
	printed := map[string][]string{}
	for file, text := range readAll(t, top+"README.md", top+"docs/*.md", top+"docs/start/*.md", top+"infra/constructs/README.md", top+"examples/*.yaml",
		top+"examples/*/*.yaml", top+"cmd/slidegate/internal/cli/testdata/init-*") {
		printed[file] = []string{text}
		if filepath.Ext(file) == ".md" {
			printed[file] = nil
			for _, example := range block.FindAllStringSubmatch(text, -1) {
				printed[file] = append(printed[file], example[1])
			}
		}
	}
	found := map[string]int{}
	for file, texts := range printed {
		for _, text := range texts {
			set, err := rulefile.Parse(file, []byte(text))
			if err != nil {
				continue // another language, or an error that the page shows
			}
			for _, r := range set.Rules {
				why := ""
				if verifiedKey.MatchString(r.Key) {
					why = "a verified key"
				} else if r.Name == "per-ip" && deploying.MatchString(file) {
					why = "a first deployment"
				}
				if found[why]++; why != "" && !r.TakesOverrides() {
					t.Errorf("%s: rule %s has %s (%s), and lacks overrides: true in:\n%s", file, r.Name, why, r.Key, text)
				}
			}
		}
	}
	if found["a verified key"] < 15 || found["a first deployment"] < 7 {
		t.Errorf("the test finds too few rules: %v", found)
	}
}

// Every kind of thing that a document can say is shown.
func TestDocumentedExamples(t *testing.T) {
	examples := ""
	for _, example := range block.FindAllStringSubmatch(pages(t), -1) {
		examples += example[1]
	}
	for _, word := range []string{"client_ip:", "hash_secret:", "hash: true", "plan:", "plans:", "overrides:", "caller:", "match:", "unless:", "cost: {from:", "settle:", "trusted:", "mode:",
		"refund_on:", "candidate:", "anchor: {from:", "atomic:", "until:", "why:", "deny: true", "unlimited: true", "limit: {", "limits: [5/minute", "unlimited,"} {
		if !strings.Contains(examples, word) {
			t.Errorf("no example has %s", word)
		}
	}
}

// The file with everything, and all files among the examples, draw no warning.
func TestExamplesDrawNoWarnings(t *testing.T) {
	for file, text := range readAll(t, "../testdata/complete.yaml", "../../../examples/*.yaml", "../../../examples/traffic/*.yaml") {
		if set, err := rulefile.Parse(file, []byte(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		} else if len(set.Warnings) > 0 {
			t.Errorf("%s: warnings %q", file, set.Warnings)
		}
	}
}

// endless never ends, as /dev/zero does.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A file without an end is read in part, and refused, whatever it begins with.
func TestReadWithoutAnEnd(t *testing.T) {
	text, err := rulefile.Read(endless{})
	if err != nil {
		t.Fatal(err)
	}
	for _, begin := range []string{"", "rules: []\n", "descriptors:\n"} {
		_, err = rulefile.Parse("f", append([]byte(begin), text...))
		if want := "f:1:1: the document has more than 4194304 bytes, which is the most: split it"; err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", begin, err, want)
		}
	}
}
