package cli

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

var updateGuide = flag.Bool("update-guide", false, "write what the commands of docs/guide.md, docs/spend.md, docs/start and README.md print into them")

func TestGuide(t *testing.T) { follow(t, startShell(t), "../../../../docs/guide.md") }

// The README's commands follow `make run`.
func TestReadme(t *testing.T) {
	sh := startShell(t)
	sh.run(sh.here.Replace("slidegate serve --rules examples/rules.yaml --listen 127.0.0.1:8080 2>serve.log &"))
	sh.run("until grep -qs listening serve.log; do sleep 0.1; done")
	follow(t, sh, "../../../../README.md")
}

func TestService(t *testing.T) { follow(t, startShell(t), "../../../../docs/start/service.md") }

func TestServeGuide(t *testing.T) {
	follow(t, startLocalShell(t), "../../../../docs/start/serve.md")
}

func TestSpend(t *testing.T) { follow(t, startLocalShell(t), "../../../../docs/spend.md") }

// The page from a log to a limit promises five minutes of typing: 1,000
// characters, at 40 words a minute.
func TestFiveMinutes(t *testing.T) {
	const page = "../../../../docs/start/limit.md"
	sh := startLocalShell(t)
	follow(t, sh, page)
	typed := 0
	for line := range strings.Lines(read(t, page)) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			typed += len(command)
		}
	}
	if typed == 0 || typed > 1000 {
		t.Errorf("%d characters to type", typed)
	}
	sh.run("grep -q '<svg' report.html")
}

// follow follows a page: it saves the files that the page shows, runs its
// commands in a shell, and compares what they print. An ellipsis in the page
// matches anything within a line.
func follow(t *testing.T, sh *shell, guide string) {
	t.Helper()
	var out strings.Builder
	for _, part := range splitGuide(read(t, guide)) {
		switch {
		case part.file != "":
			sh.save(part.file, part.body)
		case part.console:
			part.body = sh.session(part.body)
		}
		out.WriteString(part.head + part.body + part.tail)
	}
	if *updateGuide {
		write(t, guide, out.String())
	}
}

// guidePart is a fenced block of the guide and the text before it.
type guidePart struct {
	head, body, tail string
	file             string // the name to save the body under
	console          bool   // the body has commands and their output
}

var saves = regexp.MustCompile("`([a-z0-9-]+\\.(?:yaml|json|jsonl|py))`:\n+$")

func splitGuide(text string) (parts []guidePart) {
	for {
		start := strings.Index(text, "```")
		if start < 0 {
			return append(parts, guidePart{head: text})
		}
		line := start + strings.IndexByte(text[start:], '\n') + 1
		end := line + strings.Index(text[line:], "```")
		p := guidePart{head: text[:line], body: text[line:end], tail: "```", console: text[start:line] == "```console\n"}
		if m := saves.FindStringSubmatch(text[:start]); m != nil && !p.console {
			p.file = m[1]
		}
		parts, text = append(parts, p), text[end+3:]
	}
}

// shell is a bash, whose variables and background jobs last from command to
// command.
type shell struct {
	t     *testing.T
	dir   string
	in    io.Writer
	out   *bufio.Reader
	here  *strings.Replacer // replaces the guide's tables and ports by those of this run
	there *strings.Replacer // the reverse
}

// startShell starts a shell for pages with tables and tokens.
func startShell(t *testing.T) *shell {
	t.Helper()
	dynamotest.Connect(t) // fails with instructions if no engine runs
	path := program(t).Path
	issuer := exec.Command("go", "build", "-o", filepath.Dir(path), "../../../../localstack/issuer")
	if out, err := issuer.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return startLocalShell(t)
}

// startLocalShell starts a shell that has slidegate and the examples.
func startLocalShell(t *testing.T) *shell {
	t.Helper()
	path := program(t).Path
	cmd := exec.Command("bash", "--norc", "-s")
	cmd.Dir = t.TempDir()
	examples, err := filepath.Abs("../../../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(cmd.Dir, "examples")); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Background jobs of the guide keep the pipe open, so the whole group is killed.
	end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stuck := time.AfterFunc(3*time.Minute, end)
	t.Cleanup(func() {
		stuck.Stop()
		end()
		_ = cmd.Wait()
	})
	id := dynamotest.Name()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	here, there := renaming(
		"slidegate-rules", id+"-rules", "slidegate-counters", id+"-counters", "127.0.0.1:8080", freeAddress(t), "127.0.0.1:9000", freeAddress(t), "127.0.0.1:9090", freeAddress(t), "ada", me.Username,
	)
	return &shell{t, cmd.Dir, in, bufio.NewReader(pipe), here, there}
}

// freeAddress returns a loopback address at which nothing listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *shell) save(name, body string) {
	s.t.Helper()
	write(s.t, filepath.Join(s.dir, name), s.here.Replace(body))
}

// session runs the commands of a block, compares their output, and returns the
// block with the actual output.
func (s *shell) session(body string) string {
	s.t.Helper()
	var out strings.Builder
	for _, step := range strings.Split("\n"+strings.TrimSuffix(body, "\n"), "\n$ ")[1:] {
		command, want := step, ""
		for end := 0; ; {
			i := strings.IndexByte(step[end:], '\n')
			if i < 0 {
				break
			}
			if end += i; !strings.HasSuffix(step[:end], "\\") {
				command, want = step[:end], step[end+1:]
				break
			}
			end++
		}
		got := s.there.Replace(s.run(s.here.Replace(command)))
		if !alike(got, want) {
			if !*updateGuide {
				s.t.Errorf("$ %s\nprinted\n%s\nwant\n%s", command, got, want)
			}
			want = got
		}
		out.WriteString("$ " + command + "\n")
		if want != "" {
			out.WriteString(want + "\n")
		}
	}
	return out.String()
}

// run runs one command and returns its output without the final newline.
func (s *shell) run(command string) string {
	s.t.Helper()
	const mark = "\x04end"
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '\\004end\\n'\n", command); err != nil {
		s.t.Fatal(err)
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("$ %s\n%s%s: the shell has ended: %v", command, printed.String(), line, err)
		}
		if before, ended := strings.CutSuffix(line, mark+"\n"); ended {
			return strings.TrimSuffix(printed.String()+before, "\n")
		}
		printed.WriteString(line)
	}
}

// waits are numbers that a slot of 200 ms more or less rounds up to another second.
var waits = regexp.MustCompile(`(Retry-After: |;t=)1[01]\b`)

var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)

// alike reports whether output matches the guide, apart from times and the width
// of columns.
func alike(got, want string) bool {
	plain := func(text string) []string {
		lines := strings.Split(waits.ReplaceAllString(moments.ReplaceAllString(text, "MOMENT"), "${1}11"), "\n")
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
		}
		return lines
	}
	lines, wanted := plain(got), plain(want)
	if len(lines) != len(wanted) {
		return false
	}
	for i := range lines {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(wanted[i]), "…", ".*") + "$"
		if !regexp.MustCompile(pattern).MatchString(lines[i]) {
			return false
		}
	}
	return true
}
