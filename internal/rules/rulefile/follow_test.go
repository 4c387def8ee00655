package rulefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
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
	t     *testing.T
	path  string
	log   bytes.Buffer
	f     *Follower
	ticks <-chan time.Time // before each look, in fake time; nil for none
}

func startEditor(t *testing.T) *editor {
	e := &editor{t: t, path: filepath.Join(t.TempDir(), "rules.yaml")}
	e.write("first")
	log := slog.New(slog.NewTextHandler(&e.log, nil))
	file, err := Open(t.Context(), e.path, log)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text []byte) (*rules.Set, error) { return Parse(e.path, text) }
	set, err := parse(file.Text)
	if err != nil {
		t.Fatal(err)
	}
	e.f = file.Follow(log, set, parse)
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
	e.look(looks)
	e.wantRule(rule, logged)
}

func (e *editor) look(looks int) {
	for range looks {
		if e.ticks != nil {
			<-e.ticks
		}
		e.f.Look()
	}
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
	e.want(3, "first", "") // the same text
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
	if err := e.f.Problem(); err == nil || !strings.Contains(err.Error(), "key is missing") {
		t.Errorf("the problem is %v", err)
	}
	e.remove()
	e.want(3, "first", "no such file")
	if err := e.f.Problem(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the problem is %v", err)
	}
	e.replace("second")
	e.want(2, "second", "rules reloaded")
	if err := e.f.Problem(); err != nil {
		t.Errorf("the problem is %v", err)
	}
}

// What keeps a file out of force is known while it keeps changing, and after that
// it is what was wrong with its text before.
func TestProblemOfARulesFile(t *testing.T) {
	const bad = "rules: [{name: x}]"
	e := startEditor(t)
	want := func(when, part string) {
		t.Helper()
		if got := fmt.Sprint(e.f.Problem()); !strings.Contains(got, part) {
			t.Errorf("%s, the problem is %s; want %s", when, got, part)
		}
	}
	change := func() {
		for i := range 12 {
			e.replace(fmt.Sprint("rule", i))
			e.f.Look()
		}
		want("while it changes", errChanging.Error())
	}
	loaded := e.path + "-loaded"
	if err := os.Link(e.path, loaded); err != nil {
		t.Fatal(err)
	}
	change()
	if err := os.Rename(loaded, e.path); err != nil {
		t.Fatal(err)
	}
	e.look(2)
	want("once the file in force is back", "<nil>")
	e.replace(bad)
	e.look(2)
	want("with a bad text", "key is missing")
	change()
	e.replace(bad)
	e.look(2)
	want("with the same bad text", "key is missing")
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

// The file may become a pipe between the look at it and the read.
func TestNamedPipeIsNotOpened(t *testing.T) {
	e := startEditor(t)
	regular, err := os.Lstat(e.path)
	if err != nil {
		t.Fatal(err)
	}
	e.remove()
	if err := syscall.Mkfifo(e.path, 0o600); err != nil {
		t.Fatal(err)
	}
	e.f.loaded, e.f.lstat = nil, func(string) (os.FileInfo, error) { return regular, nil }
	e.want(2, "first", "it is not a regular file")
}

// A file that changes before each look is read at the third, if its text is
// another. One that is not valid is logged once a minute, and when it has settled.
func TestRulesFileKeepsChanging(t *testing.T) {
	e := startEditor(t)
	want := func(looks int, write func(), rule, logged string) {
		t.Helper()
		for range looks - 1 {
			write()
			e.want(1, rule, "")
		}
		write()
		e.want(1, rule, logged)
	}
	second := func() { e.replace("second") }
	second()
	e.want(1, "first", "")
	second()
	e.want(1, "first", "")
	second()
	e.want(1, "second", "rules reloaded")
	want(9, second, "second", "")
	e.want(2, "second", "")
	bad := func() { e.replace("rules: [{name: x}]") }
	want(3, bad, "second", "rules[0]: key is missing")
	worse := func() { e.replace("rules: [{name: y, limit: 1/s}]") }
	want(60, worse, "second", "rules[0]: key is missing")
	want(4, bad, "second", "")
	e.want(1, "second", "rules[0]: key is missing")
	e.want(3, "second", "")
}

// A file that a slow program writes counts when it is whole, although its first
// half is valid. The log says that it is waited for.
func TestRulesFileGrows(t *testing.T) {
	e := startEditor(t)
	whole := strings.ReplaceAll(oneRule, "NAME", "second") + "\n"
	for i := range 30 {
		whole += "# line\n"
		if e.write(whole); i != longAfter-1 {
			e.want(1, "first", "")
		} else {
			e.want(1, "first", "its text keeps changing")
		}
	}
	e.want(1, "second", "rules reloaded")
}

// While a read hangs, it is the only one, and the log says so once a minute. When
// it ends, its rules are in force.
func TestFileSystemHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := startEditor(t)
		e.ticks = time.Tick(LookEvery)
		answer := make(chan struct{})
		var reads atomic.Int64
		e.f.read = func(name string) ([]byte, error) {
			reads.Add(1)
			<-answer
			return ReadFile(name)
		}
		e.replace("second")
		e.want(6, "first", "") // from the second on, they wait for a second each
		e.want(1, "first", `until the file system answers, those in force stay" file=`+e.path+` hangs="reading the file"`)
		e.want(59, "first", "")
		e.want(60, "first", "until the file system answers")
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
		close(answer)
		synctest.Wait()
		e.want(9, "second", "rules reloaded")
		e.want(60, "second", "")
	})
}

// A read that hangs is abandoned when the name leads to another file, and its
// rules never count.
func TestReadIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := startEditor(t)
		e.ticks = time.Tick(LookEvery)
		answer, read := make(chan struct{}), e.f.read
		e.f.read = func(name string) ([]byte, error) {
			text, err := read(name)
			if bytes.Contains(text, []byte("second")) {
				<-answer
			}
			return text, err
		}
		e.replace("second")
		e.want(7, "first", `hangs="reading the file"`)
		e.replace("third")
		e.want(3, "third", "rules reloaded")
		close(answer)
		e.want(3, "third", "")
	})
}

// A link to a file system that hangs is abandoned when it leads elsewhere, three
// times. The fourth waits until one of them ends.
func TestLinkIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := startEditor(t)
		e.ticks = time.Tick(LookEvery)
		answer := make(chan struct{})
		e.f.stat = func(name string) (os.FileInfo, error) {
			if target, _ := os.Readlink(name); strings.HasPrefix(target, "hangs") {
				<-answer
			}
			return os.Stat(name)
		}
		link := func(target string) {
			if err := os.Symlink(target, e.path+"~"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(e.path+"~", e.path); err != nil {
				t.Fatal(err)
			}
		}
		good := filepath.Join(filepath.Dir(e.path), "good.yaml")
		rule := "first"
		for i := range 3 {
			link("hangs")
			e.want(60, rule, `hangs="following the link"`)
			rule = "good-" + strconv.Itoa(i)
			e.writeTo(good, rule)
			link("good.yaml")
			e.want(3, rule, "rules reloaded")
		}
		link("hangs")
		e.want(60, rule, `hangs="following the link"`)
		e.writeTo(good, "better")
		link("good.yaml")
		e.want(60, rule, `hangs="following the link"`)
		answer <- struct{}{}
		synctest.Wait()
		e.want(3, "better", "rules reloaded")
		close(answer)
	})
}

// A file system that is slow draws no line, and one that needs many seconds for
// each look draws one a minute.
func TestFileSystemIsSlow(t *testing.T) {
	for _, test := range []struct {
		look  time.Duration
		lines int // of three minutes
	}{{1300 * time.Millisecond, 0}, {4 * time.Second, 0}, {7 * time.Second, 3}} {
		synctest.Test(t, func(t *testing.T) {
			e := startEditor(t)
			e.ticks = time.Tick(LookEvery)
			e.f.lstat = func(name string) (os.FileInfo, error) {
				time.Sleep(test.look)
				return os.Lstat(name)
			}
			e.replace("second")
			e.look(180)
			time.Sleep(test.look) // until the last one has ended
			log := e.log.String()
			hangs := strings.Count(log, "hangs=")
			if reloaded := strings.Count(log, "rules reloaded"); reloaded != 1 || hangs != test.lines || strings.Count(log, "\n") != hangs+1 {
				t.Errorf("looks of %v: the log has\n%s, want %d lines about what hangs", test.look, log, test.lines)
			}
		})
	}
}

// A command that waits for its rules file says so after a second, and ends when
// it is interrupted.
func TestOpenWaits(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancelCause(t.Context())
			defer interrupt(nil)
			answer := make(chan struct{})
			read := func(string) ([]byte, error) {
				<-answer
				return []byte("text"), nil
			}
			var log bytes.Buffer
			var file *File
			var err error
			go func() { file, err = open(ctx, "none", slog.New(slog.NewTextHandler(&log, nil)), read) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			want := `msg="waiting for the rules file: another program has to write it, or its file system to answer" file=none`
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
				t.Errorf("logged %q, want %s", got, want)
			}
			if interrupted {
				interrupt(errors.New("a signal"))
				synctest.Wait()
			}
			close(answer)
			synctest.Wait()
			if interrupted && (err == nil || err.Error() != "none: nothing was read: a signal") {
				t.Errorf("interrupted: %v, %v", file, err)
			}
			if !interrupted && (err != nil || string(file.Text) != "text") {
				t.Errorf("read %v, %v", file, err)
			}
		})
	}
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
