package main

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestFind holds every mutant of a file that has each construct against a
// golden list.
func TestFind(t *testing.T) {
	src, err := os.ReadFile("testdata/operators.go")
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := find("operators.go", src)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, m := range mutants {
		fmt.Fprintf(&got, "%d:%d: %s in %s\n%s\n", m.Line, m.Column, m.Operator, m.Function, m.diff())
	}
	golden := "testdata/operators.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the mutants differ from %s; if they should, run go test ./mutants -update and read the difference\n%s", golden, got.String())
	}
}

// TestMutantsParse says that a mutant may fail to compile only for its types,
// and that it differs from its source.
func TestMutantsParse(t *testing.T) {
	src, err := os.ReadFile("testdata/operators.go")
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := find("operators.go", src)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		mutated := m.source()
		if _, err := parser.ParseFile(token.NewFileSet(), "", mutated, 0); err != nil {
			t.Errorf("%v\n%s", err, m.diff())
		}
		if string(mutated) == string(src) {
			t.Errorf("nothing changes\n%s", m.diff())
		}
	}
}

func TestFindRefusesWhatIsNotGo(t *testing.T) {
	if _, err := find("broken.go", []byte("package broken\nfunc {")); err == nil || !strings.Contains(err.Error(), "broken.go:2:6") {
		t.Errorf("the error is %v, which does not name the place", err)
	}
}

// TestWholeLines covers a change that spans lines, at either end of a file
// without a last line feed.
func TestWholeLines(t *testing.T) {
	src := []byte("one\n\ttwo\n\tthree\nfour")
	for _, c := range []struct {
		start, end int
		text       string
		want       string
	}{
		{0, 3, "1", "- one\n+ 1\n"},
		{5, 5, "x", "- two\n+ xtwo\n"},
		{5, 15, "", "- two\n- three\n"},
		{14, 20, "a\n\nb", "- three\n- four\n+ threa\n+ b\n"},
	} {
		m := mutant{src: src, start: c.start, end: c.end, text: c.text}
		if got := m.lines().diff(); got != c.want {
			t.Errorf("%d to %d becomes %q:\n%swant\n%s", c.start, c.end, c.text, got, c.want)
		}
	}
}
