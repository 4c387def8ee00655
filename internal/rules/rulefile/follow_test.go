package rulefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// editor changes a rules file as programs do.
type editor struct {
	*testing.T
	dir, path string
}

func (e *editor) must(err error) {
	if err != nil {
		e.Fatal(err)
	}
}

func startEditor(t *testing.T) *editor {
	dir := t.TempDir()
	e := &editor{t, dir, filepath.Join(dir, "rules.yaml")}
	e.write(e.path, "first")
	return e
}

// write writes a file with a valid rule of this name, or what is no name as it
// is.
func (e *editor) write(path, rule string) {
	if !strings.ContainsAny(rule, " :") {
		rule = "rules: [{name: " + rule + ", key: 'ip:{ip}', limits: [{capacity: 5, window: 60s}]}]"
	}
	e.must(os.WriteFile(path, []byte(rule), 0o600))
}

// edit makes one change; text has what the file holds after it.
func (e *editor) edit(how, text string) {
	switch how {
	case "write": // in place
		e.write(e.path, text)
	case "replace": // by another file, renamed
		e.write(e.path+"~", text)
		e.must(os.Rename(e.path+"~", e.path))
	case "append":
		file, err := os.OpenFile(e.path, os.O_WRONLY|os.O_APPEND, 0)
		e.must(err)
		_, err = file.WriteString("\n" + text)
		e.must(errors.Join(err, file.Close()))
	case "configmap": // as Kubernetes does: a link to another directory replaces the one before
		version := filepath.Join(e.dir, ".."+strconv.FormatInt(time.Now().UnixNano(), 10))
		e.must(os.Mkdir(version, 0o700))
		e.write(filepath.Join(version, "rules.yaml"), text)
		e.must(os.Symlink(filepath.Base(version), filepath.Join(e.dir, "..data~")))
		e.must(os.Rename(filepath.Join(e.dir, "..data~"), filepath.Join(e.dir, "..data")))
		if found, _ := os.Readlink(e.path); found == "" {
			e.must(os.Symlink("..data/rules.yaml", e.path+"~"))
			e.must(os.Rename(e.path+"~", e.path))
		}
	case "remove":
		e.must(os.Remove(e.path))
	case "pipe":
		e.must(os.Remove(e.path))
		e.must(syscall.Mkfifo(e.path, 0o600))
	case "date": // as deployments do, which give all files one time
		e.must(os.Chtimes(e.path, time.Unix(0, 0), time.Unix(0, 0)))
	default:
		e.Fatalf("unknown step %s", how)
	}
}

// TestFollow: histories of a rules file. Each line is a change of the file, or
// looks, with the rule that is in force after each of them and a part of the only
// line that they log. "and is" has a part of the problem of the file.
func TestFollow(t *testing.T) {
	for _, tt := range []struct{ name, history string }{
		{"a change counts from the second look that reads it", `
			look 3: first
			replace second
			look: first
			look: second, rules reloaded
			look 3: second
			write third
			look: second
			replace fourth
			look: second
			look: fourth, rules reloaded`},
		{"a text of the same length and time", `
			date
			look 3: first
			write other
			date
			look: first
			look: other, rules reloaded`},
		{"links are swapped", `
			configmap second
			look: first
			look: second, rules reloaded
			configmap third
			look: second
			look: third, rules reloaded
			configmap rules: [{name: x}]
			look 2: third, rules.yaml:1:9: rules[0]: key is missing
			configmap third
			look 2: third, rules reloaded`},
		{"bad rules, and none", `
			replace rules: [{name: x}]
			look 2: first, rules.yaml:1:9: rules[0]: key is missing
			look 3: first and is key is missing
			remove
			look: first and is key is missing
			look 2: first, no such file
			look 3: first and is no such file
			replace second
			look 2: second, rules reloaded
			look: second and is <nil>`},
		{"missing for a moment", `
			remove
			look: first
			write first
			look 3: first and is <nil>`},
		{"a named pipe is not read", `
			pipe
			look 3: first, it is not a regular file
			look 3: first and is it is not a regular file
			replace second
			look 2: second, rules reloaded`},
		{"written slowly, and valid from the start", `
			write second
			look: first
			append # 1
			look: first
			append # 2
			look: first
			look: second, rules reloaded`},
		{"without end", `
			write second
			look: first` + strings.Repeat(`
			append # more
			look: first and is <nil>`, changingAfter-2) + `
			append # more
			look: first, its text keeps changing` + strings.Repeat(`
			append # more
			look: first and is its text keeps changing`, remindEvery-1) + `
			append # more
			look: first, its text keeps changing
			look: second, rules reloaded
			look: second and is <nil>`},
		{"back to what it was", `
			replace rules: [{name: x}]
			look 2: first, key is missing` + strings.Repeat(`
			append # more
			look: first and is key is missing`, changingAfter-1) + `
			append # more
			look: first, its text keeps changing
			replace rules: [{name: x}]
			look: first and is key is missing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := startEditor(t)
			var log bytes.Buffer
			f := e.follow(&log)
			for step := range strings.SplitSeq(strings.TrimSpace(tt.history), "\n") {
				how, text, _ := strings.Cut(strings.TrimSpace(step), " ")
				looks, want, isLook := strings.Cut(strings.TrimSpace(step), ": ")
				if !isLook || !strings.HasPrefix(looks, "look") {
					e.edit(how, text)
					continue
				}
				want, problem, _ := strings.Cut(want, " and is ")
				rule, logged, _ := strings.Cut(want, ", ")
				n, _ := strconv.Atoi(strings.TrimPrefix(looks, "look "))
				log.Reset()
				for range max(1, n) {
					f.Look()
				}
				set, _ := f.Rules(t.Context(), time.Time{})
				lines := min(1, len(logged))
				if got := log.String(); set.Rules[0].Name != rule || strings.Count(got, "\n") != lines || !strings.Contains(got, logged) {
					t.Fatalf("%s: rule %s is in force, the log has %q", step, set.Rules[0].Name, got)
				}
				if got := fmt.Sprint(f.Problem()); !strings.Contains(got, problem) {
					t.Fatalf("%s: the problem is %s", step, got)
				}
			}
		})
	}
}

func (e *editor) follow(log *bytes.Buffer) *Follower {
	logger := slog.New(slog.NewTextHandler(log, nil))
	file, err := Open(e.Context(), e.path, logger)
	e.must(err)
	parse := func(text []byte) (*rules.Set, error) { return Parse(e.path, text) }
	set, err := parse(file.Text)
	e.must(err)
	return file.Follow(logger, set, parse)
}

// TestConfirmed: rules are confirmed by each look that finds the file in force, and
// age while it is bad or gone.
func TestConfirmed(t *testing.T) {
	e := startEditor(t)
	f := e.follow(new(bytes.Buffer))
	var now int64
	f.Now = func() time.Time { return time.Unix(now, 0) }
	for i, step := range []struct {
		how, text string
		confirmed []int64 // by each look, a second apart
	}{
		{"date", "", []int64{1, 2}}, {"replace", "rules: [{name: x}]", []int64{2, 2, 2}}, {"replace", "second", []int64{2, 7}}, {"remove", "", []int64{7, 7}},
	} {
		e.edit(step.how, step.text)
		for _, want := range step.confirmed {
			now++
			f.Look()
			if got := f.Confirmed().Unix(); got != want {
				t.Errorf("step %d, at %d: confirmed at %d, want %d", i, now, got, want)
			}
		}
	}
}

// TestWatch: a signal reads the file at once, and also one that has not changed.
// Warnings are logged behind the line that says that the rules are in force.
func TestWatch(t *testing.T) {
	e := startEditor(t)
	var log bytes.Buffer
	f := e.follow(&log)
	ctx, cancel := context.WithCancel(t.Context())
	ticks, signals, ended := make(chan time.Time), make(chan os.Signal), make(chan struct{})
	go func() {
		defer close(ended)
		f.Watch(ctx, ticks, signals)
	}()
	e.edit("replace", "rules: [{name: second, key: ip, limit: 1/s}]")
	signals <- os.Interrupt // any value
	signals <- os.Interrupt
	ticks <- time.Time{} // returns when the signals have been served
	e.edit("replace", "third")
	for range 3 {
		ticks <- time.Time{}
	}
	cancel()
	<-ended
	var got []string
	for line := range strings.Lines(log.String()) {
		_, message, _ := strings.Cut(strings.TrimSpace(line), " ")
		got = append(got, strings.ReplaceAll(message, e.path, "FILE"))
	}
	reloaded := `level=INFO msg="rules reloaded" file=FILE rules=1`
	warning := `level=WARN msg=rules warning="FILE:1:29: rules[0].key: ip without braces is text, so all requests share one counter: write \"{ip}\""`
	if want := []string{reloaded, warning, reloaded, warning, reloaded}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

// TestOpenWaits: a command that waits for its rules file says so after a second,
// and ends when it is interrupted.
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
