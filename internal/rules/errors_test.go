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
		if err := (&limit.Charge{Key: "k", Limits: r.Limits, Costs: own(r).Costs, Hold: limit.Opening{ID: 1}}).Check(); err != nil {
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
