package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var dose = []target{{"dose", []string{"dose", "meter -factor=3"}}}

// mutate runs the tool on the module in testdata, with this list of
// equivalents.
func mutate(t *testing.T, targets []target, list string, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "equivalents.txt")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/module")
	var out bytes.Buffer
	err := run(t.Context(), targets, append([]string{"-equivalents=" + file, "-grace=2s"}, args...), &out, io.Discard)
	t.Chdir("../..")
	return out.String(), err
}

const listed = `
dose Clamp
- if n > most {
+ if n >= most {
most is most

dose Halve
- func Halve(n int) int { return n / 2 }
+ func Halve(n int) int { return n * 2 }
caught all the same

dose Gone
- a
+ b
is no more
`

// TestRun sees every outcome on a small module, and nothing written to it.
func TestRun(t *testing.T) {
	before := tree(t)
	out, err := mutate(t, dose, listed, "-json")
	if err == nil || !strings.Contains(err.Error(), "0 were not run, 2 entries of the list") {
		t.Errorf("the error is %v", err)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	var survivors []string
	for _, m := range r.Survivors {
		survivors = append(survivors, fmt.Sprintf("%s:%d %s: %s", m.File, m.Line, m.Outcome, m.Mutated))
	}
	want := []string{
		"dose/dose.go:32 unreached: func Forgotten(n int) int { _ = -n; return *new(int) }",
		"dose/dose.go:32 unreached: func Forgotten(n int) int { return n }",
	}
	if !slices.Equal(survivors, want) {
		t.Errorf("survivors:\n%s\nwant\n%s", strings.Join(survivors, "\n"), strings.Join(want, "\n"))
	}
	s := r.Packages[0]
	const caught, mutants = 23, 26 // two more do not compile
	if s.Killed+s.TimedOut != caught || s.TimedOut < 2 || s.Equivalent != 1 || s.Mutants != mutants || s.Score != 100*caught/float64(mutants-1) {
		t.Errorf("%+v", s)
	}
	if len(r.Stale) != 2 || !strings.Contains(r.Stale[0], "txt:7: the tests catch") || !strings.Contains(r.Stale[1], "txt:12: Gone has no such") {
		t.Errorf("stale: %q", r.Stale)
	}
	if after := tree(t); after != before {
		t.Errorf("the tree was\n%s\nand is\n%s", before, after)
	}
}

// tree describes every file of the module.
func tree(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir("testdata/module", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRunPrintsATable(t *testing.T) {
	out, err := mutate(t, dose, "", "-budget=1ns", "dose")
	if err == nil || !strings.Contains(err.Error(), "0 mutants survived") {
		t.Errorf("a run that had no time: %v", err)
	}
	if lines := strings.Split(out, "\n"); len(lines) != 3 || !strings.Contains(lines[0], "not run") || !strings.HasSuffix(lines[1], " 0.0%") {
		t.Errorf("printed\n%s", out)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		name, list, want string
		targets          []target
		args             []string
	}{
		{"tests that fail already", "", "the tests of meter fail without any mutant", []target{{"dose", []string{"meter"}}}, nil},
		{"tests that are not there", "", "nowhere", []target{{"dose", []string{"nowhere"}}}, nil},
		{"a package that is not there", "", "nowhere", []target{{"nowhere", []string{"dose"}}}, nil},
		{"a package without a target", "", `the mutants of "meter"`, dose, []string{"meter"}},
		{"a list without reasons", "dose Clamp\n- a\n+ b", "a reason", dose, nil},
		{"no workers", "", "-workers=0", dose, []string{"-workers=0"}},
		{"an unknown flag", "", "-fast", dose, []string{"-fast"}},
	} {
		out, err := mutate(t, c.targets, c.list, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
			t.Errorf("%s: the error is %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Chdir("testdata/module")
	results, err := examine(ctx, dose[0], 1, 0, io.Discard)
	if err != nil || len(results) == 0 || slices.ContainsFunc(results, func(r result) bool { return r.Outcome != notRun }) {
		t.Errorf("%d results, %v", len(results), err)
	}
}
