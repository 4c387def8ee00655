package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestTable compares the table of docs/migrating.md with the code. With -update it
// writes the table.
func TestTable(t *testing.T) {
	rows := make([]string, 7)
	for i, title := range []string{"", "---", "version", "lines of code", "packages built outside std", "modules of these", "fullest minute ÷ limit"} {
		rows[i] = "| " + title + " |"
	}
	for _, l := range libraries {
		version, packages, modules := built(t, &l)
		for i, cell := range []any{l.name, "---", version, lines(t, l.file), packages, modules, fmt.Sprintf("%.2f", float64(l.fullest)/capacity)} {
			rows[i] += fmt.Sprint(" ", cell, " |")
		}
	}
	golden.CheckPart(t, "../../docs/migrating.md", "<!-- cd tools/bench && go test -run TestTable . -update -->\n", "<!-- end -->\n", strings.Join(rows, "\n")+"\n")
}

// lines counts the lines of a program but for blank ones and comments.
func lines(t *testing.T, file string) (n int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// built returns the version of a library, and what Go compiles for its program
// besides the program and std.
func built(t *testing.T, l *library) (version string, packages, modules int) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{if not .Replace}}{{.Version}}{{end}}{{end}}", l.file).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		module, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages++
		all[module] = true
		if module == l.module {
			version = v
		}
	}
	return version, packages, len(all)
}
