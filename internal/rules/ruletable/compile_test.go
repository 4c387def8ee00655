package ruletable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestExamplesAsJSON: a published document compiles to the rules of the
// author's text.
func TestExamplesAsJSON(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	must(t, err)
	more, err := filepath.Glob("../../../cmd/slidegate/internal/cli/testdata/*.yaml")
	must(t, err)
	read := 0
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		must(t, err)
		written, err := rulefile.Parse(file, text)
		if err != nil {
			continue // examples of mistakes
		}
		read++
		data, err := ruledoc.Marshal(written.Document())
		must(t, err)
		document, err := ruledoc.Unmarshal(data)
		must(t, err)
		published, err := ruletable.Compile(file, document)
		must(t, err)
		if changes := ruledoc.Diff(written.Document(), published.Document()); len(changes) != 0 {
			t.Errorf("%s: changes %v", file, changes)
		}
		if again, err := ruledoc.Marshal(published.Document()); err != nil || string(again) != string(data) {
			t.Errorf("%s: error %v, published again it is\n%s", file, err, cmp.Diff(string(data), string(again)))
		}
	}
	if read < 5 {
		t.Errorf("%d examples", read)
	}
}

// TestProblems: the error of a document has a line for each problem.
func TestProblems(t *testing.T) {
	_, err := ruletable.Compile("f", &ruledoc.Document{Rules: []ruledoc.Rule{{Name: "a", Key: "all"}, {Name: "b", Key: "all"}}})
	const want = "f: rules[0].limits: a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]\n" +
		"f: rules[1].limits: a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want\n%s", err, want)
	}
}
