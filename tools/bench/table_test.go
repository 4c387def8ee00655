package bench

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	page  = "../../docs/migrating.md"
	begin = "<!-- cd tools/bench && go test -run TestTable . -update -->\n"
	end   = "<!-- end -->\n"
)

var update = flag.Bool("update", false, "write the table of docs/migrating.md")

// TestTable compares the table of docs/migrating.md with the code.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	table := counted(t)
	if *update {
		err = os.WriteFile(page, []byte(before+begin+table+end+after), 0o644)
	} else if table != old {
		err = fmt.Errorf("the table of docs/migrating.md is out of date: run `cd tools/bench && go test -run TestTable . -update`\nthe page has:\n%s\nthe code gives:\n%s", old, table)
	}
	if err != nil {
		t.Error(err)
	}
}

// counted returns the table.
func counted(t *testing.T) string {
	head := row("", func(l *library) string { return l.name }) + "|---" + strings.Repeat("|---", len(libraries)) + "|\n"
	builds := map[string]compiled{}
	for _, l := range libraries {
		builds[l.file] = built(t, &l)
	}
	return head +
		row("version", func(l *library) string { return builds[l.file].version }) +
		row("lines of code", func(l *library) string { return fmt.Sprint(lines(t, l.file)) }) +
		row("packages built outside std", func(l *library) string { return fmt.Sprint(builds[l.file].packages) }) +
		row("modules of these", func(l *library) string { return fmt.Sprint(len(builds[l.file].modules)) }) +
		row("fullest minute ÷ limit", func(l *library) string { return fmt.Sprintf("%.2f", float64(l.fullest)/capacity) })
}

func row(title string, cell func(*library) string) string {
	cells := []string{title}
	for i := range libraries {
		cells = append(cells, cell(&libraries[i]))
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// lines counts the lines of a program but for blank ones and comments.
func lines(t *testing.T, file string) (n int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// compiled is what Go compiles for a program besides the program and std.
type compiled struct {
	packages int
	modules  map[string]bool
	version  string // of the library
}

func built(t *testing.T, l *library) compiled {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{$.ImportPath}} {{.Path}} {{if not .Replace}}{{.Version}}{{end}}{{end}}", l.file).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	b := compiled{modules: map[string]bool{}}
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		b.packages++
		b.modules[fields[1]] = true
		if fields[1] == l.module && len(fields) > 2 {
			b.version = fields[2]
		}
	}
	return b
}
