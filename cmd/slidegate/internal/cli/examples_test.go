package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Editors complete the examples, because the first line of each names the schema.
func TestExamplesNameTheirSchema(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.yaml", "traffic/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("../../../../examples", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("examples/%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	want, err := os.Stat("../../../../docs/rules.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(document), "\n")
		path, ok := strings.CutPrefix(line, "# yaml-language-server: $schema=")
		if got, err := os.Stat(filepath.Join(filepath.Dir(file), path)); !ok || err != nil || !os.SameFile(got, want) {
			t.Errorf("%s begins with %q, %v", file, line, err)
		}
	}
}
