package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"time"
)

// TestCallTo covers each function that cannot hand its call over to a copy.
func TestCallTo(t *testing.T) {
	for source, want := range map[string]string{
		"func f() {}": "%s(); return",
		"func f(a, b int, c ...string) error { }":   "return %s(a, b, c...)",
		"func (s *store) f(a int) {}":               "s.%s(a); return",
		"func (*store) f(a int) {}":                 "",
		"func (_ *store) f(a int) {}":               "",
		"func (p *pair[T]) f() {}":                  "",
		"func f[T any](a T) {}":                     "",
		"func f(int) {}":                            "",
		"func f(a, _ int) {}":                       "",
		"func f() { defer func() { recover() }() }": "",
		"func f()":       "",
		"func init() {}": "",
		"func f(a func(int) bool) (n int, err error) {}": "return %s(a)",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := callTo(file.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s calls its copies by %q, want %q", source, got, want)
		}
	}
}

const countSource = `package p

// Count counts.
func Count(n int) int {
	return n + len(names)
}

var names = [...]string{1: "a"}
`

// TestMakeCopies says what becomes of a file, and which copy a line belongs to.
func TestMakeCopies(t *testing.T) {
	mutants, err := find("p.go", []byte(countSource))
	if err != nil {
		t.Fatal(err)
	}
	var chosen []*mutant
	for i := range mutants {
		mutants[i].number = i + 1
		if mutants[i].Operator != "return" {
			chosen = append(chosen, &mutants[i])
		}
	}
	c, err := makeCopies(chosen)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(countSource, "{\n", "{ switch mutantNumber { case 2: return mutant2_Count(n); };\n", 1) +
		"\nfunc mutant2_Count(n int) int {\n\treturn n - len(names)\n}\n"
	if c.text != want {
		t.Errorf("the file is\n%s\nwant\n%s", c.text, want)
	}
	for line, want := range map[int]*mutant{1: nil, 9: nil, 10: chosen[0], 12: chosen[0]} {
		if got := c.at(line); got != want {
			t.Errorf("line %d is a copy of %v, want %v", line, got, want)
		}
	}
}

// TestBatch catches mutants in the binaries of a batch alone.
func TestBatch(t *testing.T) {
	t.Chdir("testdata/module")
	results, err := mutantsOf("dose")
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	suites, err := baseline(t.Context(), dose[0], scratch)
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	if err := batchTogether(t.Context(), "dose", scratch, results, suites, &progress); err != nil {
		t.Fatal(err)
	}
	if want := "dose: 22 of 28 mutants are compiled together\n"; progress.String() != want {
		t.Errorf("printed %q, want %q", progress.String(), want)
	}
	for i := range results {
		m := &results[i].mutant
		want := killed
		if m.number == 0 || m.Function == "Count" { // not in the batch, or perhaps without end
			continue
		}
		switch {
		case m.Function == "Forgotten":
			want = unreached
		case m.Mutated == "if n >= most {":
			want = survived
		}
		if got := test(t.Context(), time.Minute, m, suites, func(s *suite) (string, error) { return s.batch, nil }); got != want {
			t.Errorf("%s: %s, want %s", m.Mutated, got, want)
		}
	}
}
