package yamlfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// One document holds every mistake of form; the golden file has a message for
// each, at its place. Mistakes of meaning in it are for package rules to find.
func TestEveryErrorAtOnce(t *testing.T) {
	text, err := os.ReadFile("testdata/bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d ruledoc.Document
	_, err = yamlfile.Decode("bad.yaml", text, &d)
	if err == nil {
		t.Fatal("no error")
	}
	golden.Check(t, "testdata/bad.golden", err.Error()+"\n")
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	traffic, err := filepath.Glob("../../../examples/traffic/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, traffic...); len(files) < 3 {
		t.Fatalf("only %d examples", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d ruledoc.Document
		if _, err := yamlfile.Decode(file, text, &d); err != nil || len(d.Rules) == 0 {
			t.Errorf("%d rules, %v", len(d.Rules), err)
		}
	}
}
