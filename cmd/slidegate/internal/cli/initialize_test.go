package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/starter"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestInit: without a terminal. What it wrote is in files of its own, and draws
// no warning.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	transcript(t, "init", "", scrubElapsed, "DIR", dir)
	for _, name := range []string{"rules", "keys", "users"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, goldenPath("init-"+name), string(text))
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("init left %v, %v behind", files, err)
	}
}

// TestInitAsks: the golden file has each dialogue as a terminal shows it.
func TestInitAsks(t *testing.T) {
	var all strings.Builder
	for _, typed := range []string{
		"\n\n\n", "address\n5/second\ny\n",
		"everyone\nuser\nhttp://id.example.com\nhttps://id.example.com\n\napi\n10 per\n10 per 10s\nperhaps\nyes\n",
		"api-key\n\x1b[2J/second\n100/minute", "",
	} {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		var out strings.Builder
		c := &command.Console{Stdin: &keyboard{strings.SplitAfter(typed, "\n"), &out}, Stdout: &out, Stderr: &out}
		a := starter.Answers{Per: starter.Address, Limit: starter.DefaultLimit}
		err := initialize(t.Context(), c, path, a, false, true)
		text, _ := os.ReadFile(path)
		_, rules, _ := strings.Cut(string(text), "rules:\n")
		all.WriteString(strings.ReplaceAll(out.String(), path, "rules.yaml") + "\n")
		if err != nil {
			all.WriteString("error: " + err.Error() + "\n")
		}
		all.WriteString(rules + "----\n")
	}
	golden.Check(t, goldenPath("init-dialogue"), all.String())
}

// keyboard delivers lines one by one, and shows them as a terminal does.
type keyboard struct {
	lines  []string
	screen io.Writer
}

func (k *keyboard) Read(b []byte) (int, error) {
	if len(k.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(b, k.lines[0])
	k.lines = k.lines[1:]
	_, err := term.Escaper{Writer: k.screen}.Write(b[:n])
	return n, err
}
