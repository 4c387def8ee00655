package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files anew")

// binary builds slidegate, once, for tests that need a process of its own.
var binary = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(binaryDir, "slidegate")
	if said, err := exec.Command("go", "build", "-o", path, "../../cmd/slidegate").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
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
	code := m.Run()
	os.RemoveAll(binaryDir)
	os.Exit(code)
}

// result is what a command did.
type result struct {
	code           int
	stdout, stderr string
}

// slidegate runs a command in this process.
func slidegate(ctx context.Context, stdin string, args ...string) result {
	var stdout, stderr strings.Builder
	code := Run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// mustRun runs a command that has to succeed, and returns what it printed.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	r := slidegate(t.Context(), "", args...)
	if r.code != 0 {
		t.Fatalf("slidegate %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// golden compares with a file in testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update accepts):\n%s", path, diff)
	}
}

// What differs from run to run.
var (
	elapsedText = regexp.MustCompile(`(of traffic in) \S+`)
	elapsedJSON = regexp.MustCompile(`("elapsed_s":) [0-9.e-]+`)
)

func scrub(text string) string {
	text = elapsedText.ReplaceAllString(text, "$1 TIME")
	return elapsedJSON.ReplaceAllString(text, "$1 0")
}

// words splits a command as a shell does that knows spaces and single quotes.
func words(command string) []string {
	words := []string{}
	for i, part := range strings.Split(command, "'") {
		switch fields := strings.Fields(part); {
		case i%2 == 0:
			words = append(words, fields...)
		default:
			words = append(words, part)
		}
	}
	return words
}

// transcript spells commands and what they printed, as a terminal shows it; standard error goes last and is marked.
func transcript(ctx context.Context, stdin string, commands ...string) string {
	var b strings.Builder
	for i, command := range commands {
		if i > 0 {
			b.WriteString("\n")
		}
		r := slidegate(ctx, stdin, words(command)...)
		b.WriteString("$ slidegate " + command + "\n" + scrub(r.stdout))
		for line := range strings.Lines(scrub(r.stderr)) {
			b.WriteString("! " + line)
		}
		if r.code != 0 {
			b.WriteString("exit " + string(rune('0'+r.code)) + "\n")
		}
	}
	return b.String()
}

func TestTranscripts(t *testing.T) {
	const stdin = "203.0.113.9 - - [17/May/2015:10:05:00 +0000] \"GET / HTTP/1.1\" 200 1\n"
	for name, commands := range map[string][]string{
		"help": {
			"", "serve --help", "replay --help", "rules", "rules validate --help", "rules apply --help", "rules list --help",
			"rules get --help", "rules rollback --help", "rules history --help", "rules import --help",
			"overrides", "overrides get --help", "overrides set --help", "overrides delete --help", "overrides list --help",
			"overrides import --help", "grant --help", "explain --help", "inspect --help", "reset --help", "tables create --help",
			"version --help",
		},
		"usage": {
			"frobnicate", "rep", "rules frobnicate", "tables frobnicate", "serve now", "serve", "serve --rules x --listn y",
			"serve --rules x --backend localhost:3000", "serve --rules x --backend ftp://localhost",
			"serve --rules x --backend http://localhost:3000/base",
			"replay", "replay x", "replay x --rules y --format xml", "replay x --rules y --speed 0", "replay x --rules y --speed -1",
			"replay x --rules y --speed NaN", "replay x --rules y --speed fast", "replay x --rules y --store redis://",
			"replay x --rules y --store redis://user:secret@localhost:99999", "replay x --rules y --store redis://user:secret@localhost/zero",
			"replay x --rules y --store redis://user:secret/secret@localhost", "replay x --rules y --store postgres://user:secret@localhost",
			"replay x --rules y --store disk", "replay x --rules y --store user:secret@localhost", "replay x --rules redis://user:secret@localhost", "replay x --rules y --store dynamodb://", "replay x --rules dynamodb://a/b", "replay x --rules s3://a/b",
			"rules validate", "rules validate a b", "rules apply a", "rules apply a --rules b",
			"inspect", "inspect k --rules x", "inspect k --rules x --store memory", "reset r --rules x --store memory",
			"reset r k --rules x --store memory", "tables create", "tables create --counters same --rules same",
			"tables create --store memory", "tables create --store dynamodb://abc --counters abc", "tables create --rules a/b",
			"version now",
		},
		"replay": {
			"replay testdata/day.log --rules testdata/rules.yaml",
			"replay testdata/day.log --rules testdata/rules.yaml --json",
			"replay testdata/day.csv testdata/day.jsonl --rules testdata/rules.yaml",
			"replay testdata/day.log --rules testdata/client.yaml",
		},
		"replay-decisions": {"replay testdata/day.log --rules testdata/rules.yaml --decisions -"},
		"replay-stdin": {
			"replay - --rules testdata/rules.yaml --json",
			"replay - --rules testdata/rules.yaml --format jsonl",
		},
		"rules-validate": {
			"rules validate testdata/rules.yaml", "rules validate testdata/client.yaml", "rules validate testdata/bad.yaml",
			"rules validate testdata/rules.yaml --json", "rules validate testdata/client.yaml --json", "rules validate testdata/bad.yaml --json",
			"rules validate testdata/algorithms.yaml", "rules validate testdata/algorithms.yaml --json",
			"rules validate testdata/business.yaml", "rules validate testdata/business.yaml --json",
		},
		"missing-files": {
			"rules validate testdata/none.yaml", "rules apply testdata/none.yaml --rules dynamodb://rules",
			"serve --rules testdata/none.yaml", "replay testdata/day.log --rules testdata/none.yaml",
			"replay testdata/none.log --rules testdata/rules.yaml", "replay testdata --rules testdata/rules.yaml",
			"replay testdata/day.log --rules testdata/rules.yaml --decisions testdata/none/out.tsv",
			"serve --rules testdata/rules.yaml --listen 127.0.0.1:99999",
		},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, transcript(t.Context(), stdin, commands...)) })
	}
}

func TestVersion(t *testing.T) {
	if got := mustRun(t, "version"); !regexp.MustCompile(`^slidegate \S+ \(go1\S+, \w+/\w+\)\n$`).MatchString(got) {
		t.Errorf("%q", got)
	}
	if got := mustRun(t, "version", "--json"); !strings.Contains(got, `"version": "`) {
		t.Errorf("%q", got)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := mustRun(t, "completion", shell); !strings.Contains(got, "slidegate") {
			t.Errorf("%s: %q", shell, got)
		}
	}
}

// brokenPipe takes nothing.
type brokenPipe struct{}

var errPipe = errors.New("nobody reads this")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, command := range []string{
		"version", "version --json", "rules validate testdata/rules.yaml", "rules validate testdata/rules.yaml --json",
		"replay testdata/day.log --rules testdata/rules.yaml", "replay testdata/day.log --rules testdata/rules.yaml --json",
		"replay testdata/day.log --rules testdata/rules.yaml --decisions -",
		"explain GET / --rules testdata/rules.yaml", "explain GET / --rules testdata/rules.yaml --json",
		"rules import --format envoy testdata/envoy.yaml", "rules import --format envoy testdata/envoy.yaml --json",
	} {
		var stderr strings.Builder
		code := Run(t.Context(), strings.Fields(command), strings.NewReader(""), brokenPipe{}, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), errPipe.Error()) {
			t.Errorf("%s: exit %d, %q", command, code, stderr.String())
		}
	}
}

// program returns slidegate as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}
