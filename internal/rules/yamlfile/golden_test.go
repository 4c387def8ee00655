package yamlfile_test

import (
	"os"
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
