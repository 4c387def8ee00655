package deps_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a few people can look after. A line of code is neither blank nor a
// comment, and is not in a test.
const (
	mostFiles = 28     // of a package
	mostLines = 3000   // of a package
	mostCode  = 54_900 // of all modules, on 2026-11-28. A commit that raises it says why
)

// TestSize: each package is small enough to be one idea, and the whole does not
// grow unnoticed.
func TestSize(t *testing.T) {
	files, lines, all := map[string]int{}, map[string]int{}, 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "dist" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".."):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for line := range strings.Lines(string(source)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines[filepath.Dir(path)]++
				all++
			}
		}
		files[filepath.Dir(path)]++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range files {
		if n > mostFiles || lines[dir] > mostLines {
			t.Errorf("%s has %d files and %d lines of code, want at most %d and %d: find the two ideas in it", dir, n, lines[dir], mostFiles, mostLines)
		}
	}
	if all > mostCode || all < mostCode/2 {
		t.Errorf("all modules have %d lines of code, want at most %d", all, mostCode)
	}
}
