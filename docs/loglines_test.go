package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLogLines: failures.md lists the lines of logs that the source writes, by
// what stands before their first colon or semicolon.
func TestLogLines(t *testing.T) {
	page, lines := read(t, "failures.md"), 0
	message := regexp.MustCompile(`(?:[lL]og|throttled)\.(?:Info|Warn|Error)(?:Context)?\((?:ctx, |r\.Context\(\), )?"([^":;]+)`)
	for _, root := range []string{"../internal", "../functions", "../cmd", "../gate", "../limithttp", "../limitlambda"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../internal/test/") {
				return err
			}
			for _, found := range message.FindAllStringSubmatch(read(t, path), -1) {
				if lines++; !strings.Contains(page, "`"+found[1]) {
					t.Errorf("failures.md has no line `%s` of %s", found[1], path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if lines < 30 {
		t.Errorf("the source writes only %d lines", lines)
	}
}
