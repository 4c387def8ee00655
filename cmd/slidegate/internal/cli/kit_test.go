package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/rulescmd"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// binary builds slidegate, once, for tests that need a process.
var binary = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(binaryDir, "slidegate")
	if output, err := exec.Command("go", "build", "-o", path, "../..").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return path, nil
})

var binaryDir string

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "slidegate-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range []string{"SLIDEGATE_RULES", "SLIDEGATE_STORE", "SLIDEGATE_REDIS_PASSWORD"} {
		os.Unsetenv(name)
	}
	code := m.Run()
	os.RemoveAll(binaryDir)
	os.Exit(code)
}

// program returns slidegate as a process.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}

// result is the outcome of a command.
type result struct {
	code           int
	stdout, stderr string
}

// slidegate runs a command in this process.
func slidegate(ctx context.Context, stdin, command string) result {
	var stdout, stderr strings.Builder
	code := Run(ctx, words(command), strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// words splits a command at spaces, except within single quotes.
func words(command string) []string {
	words := []string{}
	for i, part := range strings.Split(command, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}

// mustRun runs a command that has to succeed, and returns what it printed.
func mustRun(t testing.TB, command string) string {
	t.Helper()
	r := slidegate(t.Context(), "", command)
	if r.code != 0 {
		t.Fatalf("slidegate %s: exit %d\n%s%s", command, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// mustReport is mustRun for a command that prints a report as JSON.
func mustReport[R any](t testing.TB, command string) (report R) {
	t.Helper()
	if err := json.Unmarshal([]byte(mustRun(t, command+" --json")), &report); err != nil {
		t.Fatalf("slidegate %s: %v", command, err)
	}
	return report
}

// published is a PublishReport whose changes stay JSON.
type published struct {
	rulescmd.PublishReport
	Changes []json.RawMessage `json:"changes"`
}

// wantExit runs a command that has to exit with a code, and to print all of the
// wanted parts to standard error.
func wantExit(t *testing.T, code int, command string, parts ...string) result {
	t.Helper()
	r := slidegate(t.Context(), "", command)
	for _, part := range append(parts, "") {
		if r.code != code || !strings.Contains(r.stderr, part) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want exit %d and %q", command, r.code, r.stdout, r.stderr, code, part)
		}
	}
	return r
}

// wantFailure runs a command that has to fail with one message that contains all
// of the wanted parts.
func wantFailure(t *testing.T, command string, parts ...string) {
	t.Helper()
	if r := wantExit(t, 1, command, parts...); r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%s: stdout %q, stderr %q", command, r.stdout, r.stderr)
	}
}

// wantSame compares values, or what a command printed.
func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// brokenPipe is a standard output that cannot be written.
type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

// wantPipeError runs a command that has to fail because of its standard output.
func wantPipeError(t *testing.T, command string) {
	t.Helper()
	var stderr strings.Builder
	code := Run(t.Context(), words(command), strings.NewReader(""), brokenPipe{}, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), errPipe.Error()) {
		t.Errorf("%s: exit %d, %q", command, code, stderr.String())
	}
}

func goldenPath(name string) string { return filepath.Join("testdata", name+".golden") }

var commandLine = regexp.MustCompile(`(?m)^\$ slidegate (.*)$`)

// typed is the standard input of all commands of transcripts.
const typed = "198.51.100.7 - - [17/May/2015:10:05:00 +0000] \"GET / HTTP/1.1\" 200 1\nbroken\n"

// transcript runs the commands of a golden file, its lines that begin with
// "$ slidegate ", and compares their output. Lines of standard error come last,
// after "! ". scrub replaces text that differs from run to run. names are pairs: a
// word in the file, such as TABLE, and its value in this run. DIR is an empty
// directory, which transcript returns. To add a command, add its line and run the
// test with -update.
func transcript(t *testing.T, name string, scrub func(string) string, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	here, there := renaming(append(names, "DIR", dir)...)
	var blocks []string
	for _, match := range commandLine.FindAllStringSubmatch(read(t, goldenPath(name)), -1) {
		r := slidegate(t.Context(), typed, here.Replace(match[1]))
		var b strings.Builder
		b.WriteString(r.stdout)
		for line := range strings.Lines(r.stderr) {
			b.WriteString("! " + line)
		}
		if r.code != 0 {
			fmt.Fprintf(&b, "exit %d\n", r.code)
		}
		blocks = append(blocks, match[0]+"\n"+scrub(there.Replace(b.String())))
	}
	golden.Check(t, goldenPath(name), strings.Join(blocks, "\n"))
	return dir
}

// renaming returns what replaces the first of each pair of names by the second, and
// the reverse.
func renaming(names ...string) (here, there *strings.Replacer) {
	var back []string
	for i := 0; i < len(names); i += 2 {
		back = append(back, names[i+1], names[i])
	}
	return strings.NewReplacer(names...), strings.NewReplacer(back...)
}

// scrubber returns a function that replaces what matches each pattern.
func scrubber(pairs ...string) func(string) string {
	return func(text string) string {
		for i := 0; i < len(pairs); i += 2 {
			text = regexp.MustCompile(pairs[i]).ReplaceAllString(text, pairs[i+1])
		}
		return text
	}
}

var (
	scrubElapsed = scrubber(`(of traffic in) \S+`, "$1 TIME", `("elapsed_s":) [0-9.e-]+`, "$1 0", `\d+ months old`, "MONTHS old")
	// scrubTable replaces moments and the names of new keys.
	scrubTable = scrubber(
		`\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "2026-01-01T00:00:00Z", `("left_s":) [1-9][0-9.e+]*`, "$1 60",
		`sg_[0-9a-f]{16}_[A-Z2-7]{26}`, "sg_SECRET", `sg_[0-9a-f]{16}`, "sg_NEW")
	// scrubWaits replaces times to wait, and so the widths of columns.
	scrubWaits = scrubber(`("reset_s"|"retry_after_s"): [1-9][0-9.]*`, "$1: 60", `\b(\d+m)?\d+(\.\d+)?s\b`, "60s", ` {2,}`, "  ")
)

// file writes a file of the test.
func file(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	write(t, path, content)
	return path
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ruleFiles writes documents, each with a rule api of this capacity and window,
// and returns their paths.
func ruleFiles(t *testing.T, limits ...string) (paths []string) {
	t.Helper()
	for _, l := range limits {
		paths = append(paths, file(t, "rules.yaml", "rules: [{name: api, key: 'user:{jwt.sub}', overrides: true, limits: [{"+l+"}]}]\n"))
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	wantSame(t, filepath.Base(path), want, read(t, path))
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("%q was left behind, %v", left, err)
	}
}
