// Package golden compares texts with golden files in tests.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares a text with a golden file. go test -update rewrites the file
// first.
func Check(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run go test -update if %s is out of date (-want +got):\n%s", file, diff)
	}
}

// CheckPart compares a text with what a file has between two others, the first of
// which it has once. go test -update replaces that part.
func CheckPart(t testing.TB, file, begin, end, got string) {
	t.Helper()
	Check(t, file, withPart(t, file, begin, end, got))
}

// WritePart replaces what a file has between two others, for figures that no test
// compares.
func WritePart(t testing.TB, file, begin, end, got string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(withPart(t, file, begin, end, got)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func withPart(t testing.TB, file, begin, end, part string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has nothing between %q and %q", file, begin, end)
	}
	return before + begin + part + end + after
}
