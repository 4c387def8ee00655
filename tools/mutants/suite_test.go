package main

import (
	"testing"

	"golang.org/x/tools/cover"
)

// TestReaches covers the borders of blocks: a block starts with its first
// column and ends before its last.
func TestReaches(t *testing.T) {
	s := suite{covered: map[string][]cover.ProfileBlock{"a.go": {
		{StartLine: 3, StartCol: 10, EndLine: 5, EndCol: 2, Count: 1},
		{StartLine: 5, StartCol: 2, EndLine: 5, EndCol: 8, Count: 0},
	}}}
	for _, c := range []struct {
		file         string
		line, column int
		want         bool
	}{
		{"p/a.go", 3, 10, true},
		{"p/a.go", 4, 40, true},
		{"p/a.go", 5, 1, true},
		{"p/a.go", 5, 2, false},
		{"p/a.go", 5, 7, false},
		{"p/a.go", 5, 8, true}, // in no block
		{"p/a.go", 3, 9, true},
		{"p/b.go", 5, 2, true},
	} {
		if got := s.reaches(&mutant{File: c.file, Line: c.line, Column: c.column}); got != c.want {
			t.Errorf("%s:%d:%d reached: %t, want %t", c.file, c.line, c.column, got, c.want)
		}
	}
}
