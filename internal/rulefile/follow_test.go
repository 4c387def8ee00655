package rulefile

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

const oneRule = "rules: [{name: NAME, key: 'ip:{ip}', limits: [{capacity: 5, window: 60s}]}]"

// editor changes a rules file as programs do, and looks at it.
type editor struct {
	t    *testing.T
	path string
	log  bytes.Buffer
	f    *Follower
}

func startEditor(t *testing.T) *editor {
	e := &editor{t: t, path: filepath.Join(t.TempDir(), "rules.yaml")}
	e.write("first")
	read := func() (*rules.Set, error) {
		text, err := os.ReadFile(e.path)
		if err != nil {
			return nil, err
		}
		return Parse(e.path, text)
	}
	e.f = NewFollower(e.path, slog.New(slog.NewTextHandler(&e.log, nil)))
	set, err := read()
	if err != nil {
		t.Fatal(err)
	}
	e.f.Start(set, read)
	return e
}

func (e *editor) write(rule string) { e.writeTo(e.path, rule) }

// writeTo writes a file with a rule of this name, or what is no name as it is.
func (e *editor) writeTo(path, rule string) {
	if !strings.ContainsAny(rule, " :") {
		rule = strings.ReplaceAll(oneRule, "NAME", rule)
	}
	if err := os.WriteFile(path, []byte(rule), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// replace writes another file and renames it into its place.
func (e *editor) replace(rule string) {
	e.writeTo(e.path+"~", rule)
	if err := os.Rename(e.path+"~", e.path); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) remove() {
	if err := os.Remove(e.path); err != nil {
		e.t.Fatal(err)
	}
}

// want looks at the file and checks which rule is in force, and what is logged
// meanwhile: a part of the only line, or "" for none.
func (e *editor) want(looks int, rule, logged string) {
	e.t.Helper()
	e.log.Reset()
	for range looks {
		e.f.Look()
	}
	e.wantRule(rule, logged)
}

func (e *editor) wantRule(rule, logged string) {
	e.t.Helper()
	set, err := e.f.Rules(e.t.Context(), time.Time{})
	if err != nil || set.Rules[0].Name != rule {
		e.t.Errorf("rule %s is in force, %v; want %s", set.Rules[0].Name, err, rule)
	}
	lines := 1
	if logged == "" {
		lines = 0
	}
	if got := e.log.String(); strings.Count(got, "\n") != lines || !strings.Contains(got, logged) {
		e.t.Errorf("the log has %q, want %q", got, logged)
	}
}

// A change counts from the second look that finds the file as it is.
func TestRulesFileIsReloaded(t *testing.T) {
	e := startEditor(t)
	e.want(3, "first", "")
	e.replace("second")
	e.want(1, "first", "")
	e.want(1, "second", `msg="rules reloaded"`)
	e.want(3, "second", "")
	e.write("a-third-one")
	e.want(1, "second", "")
	e.replace("fourth") // before the third was read
	e.want(1, "second", "")
	e.want(1, "fourth", `msg="rules reloaded"`)
}

// Deployments may give all files one time: another file, or another length, is
// a change too.
func TestRulesFileOfTheSameTimeIsReloaded(t *testing.T) {
	e := startEditor(t)
	epoch := time.Unix(0, 0)
	stamp := func() {
		if err := os.Chtimes(e.path, epoch, epoch); err != nil {
			t.Fatal(err)
		}
	}
	stamp()
	e.want(2, "first", "rules reloaded")
	e.write("a-longer-one")
	stamp()
	e.want(2, "a-longer-one", "rules reloaded")
	e.replace("a-second-one") // of the same length
	stamp()
	e.want(2, "a-second-one", "rules reloaded")
}

// Warnings about the new rules are logged behind the line that they are in force.
func TestRulesFileIsReloadedWithWarnings(t *testing.T) {
	e := startEditor(t)
	e.replace("rules: [{name: second, key: ip, limit: 1/s}]")
	e.f.Look()
	e.f.Look()
	lines := strings.Split(e.log.String(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "rules reloaded") || !strings.Contains(lines[1], "level=WARN") ||
		!strings.Contains(lines[1], "ip without braces is text") {
		t.Errorf("the log has %q", lines)
	}
}

// Bad rules change nothing, and are logged once.
func TestBadRulesFileIsNotReloaded(t *testing.T) {
	e := startEditor(t)
	e.replace("rules: [{name: x}]")
	e.want(2, "first", "rules.yaml:1:9: rules[0]: key is missing")
	e.want(3, "first", "")
	e.remove()
	e.want(3, "first", "no such file")
	e.replace("second")
	e.want(2, "second", "rules reloaded")
}

// A named pipe has no end before another program closes it.
func TestNamedPipeIsNotRead(t *testing.T) {
	e := startEditor(t)
	e.remove()
	if err := syscall.Mkfifo(e.path, 0o600); err != nil {
		t.Fatal(err)
	}
	e.want(3, "first", "it is not a regular file")
	e.want(3, "first", "")
	e.replace("second")
	e.want(2, "second", "rules reloaded")
}

// While the file system hangs, one read is under way and the log says so once a
// minute. Once it answers, the rules that it read are in force.
func TestFileSystemHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := startEditor(t)
		answer, read := make(chan struct{}), e.f.read
		var reads atomic.Int64
		e.f.read = func() (*rules.Set, error) {
			reads.Add(1)
			<-answer
			return read()
		}
		e.replace("second")
		e.want(2, "first", "until the file system answers") // each look waits for a second
		e.want(58, "first", "")
		e.want(60, "first", "until the file system answers")
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
		e.log.Reset()
		close(answer)
		synctest.Wait()
		e.wantRule("second", "rules reloaded")
		e.want(2, "second", "")
	})
}

// A signal reads the file at once, and also one that has not changed.
func TestRulesFileIsReloadedOnASignal(t *testing.T) {
	e := startEditor(t)
	ctx, cancel := context.WithCancel(t.Context())
	signals, ended := make(chan os.Signal), make(chan struct{})
	go func() {
		defer close(ended)
		e.f.Watch(ctx, nil, signals)
	}()
	e.replace("second")
	signals <- os.Interrupt // any value
	signals <- os.Interrupt // returns when the first has been served
	cancel()
	<-ended
	if n := strings.Count(e.log.String(), "rules reloaded"); n != 2 {
		t.Errorf("reloaded %d times, want 2", n)
	}
	e.log.Reset()
	e.want(3, "second", "")
}
