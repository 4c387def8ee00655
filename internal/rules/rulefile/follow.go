package rulefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// LookEvery is how often to look at a rules file.
const LookEvery = time.Second

// A Follower logs a text that changes at each look after changingAfter looks, and
// again every remindEvery looks.
const (
	changingAfter = 10
	remindEvery   = 60
)

var (
	errIrregular = errors.New("it is not a regular file")
	errChanging  = errors.New("its text keeps changing: write another file, and rename it to this name")
)

// File is a rules file as it was read.
type File struct {
	Name string
	Text []byte
}

// Open reads a file, unless the context ends first. If that takes longer than
// LookEvery, the log says so: a named pipe waits for the program that writes it.
func Open(ctx context.Context, name string, log *slog.Logger) (*File, error) {
	return open(ctx, name, log, ReadFile)
}

func open(ctx context.Context, name string, log *slog.Logger, read func(name string) ([]byte, error)) (*File, error) {
	ended := make(chan reading, 1)
	go func() {
		text, err := read(name)
		ended <- reading{text, err}
	}()
	for late := time.After(LookEvery); ; {
		select {
		case found := <-ended:
			return &File{name, found.text}, found.err
		case <-late:
			log.Warn("waiting for the rules file: another program has to write it, or its file system to answer", "file", name)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: nothing was read: %w", name, context.Cause(ctx))
		}
	}
}

// readRegular is ReadFile for a regular file alone. It does not wait for the
// writer of a named pipe.
func readRegular(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	return Read(file)
}

// reading is what a look has read.
type reading struct {
	text []byte
	err  error
}

func (r reading) equal(other reading) bool {
	return bytes.Equal(r.text, other.text) && fmt.Sprint(r.err) == fmt.Sprint(other.err)
}

// Follower is an engine.RuleSource: the rules of a file, as it changes. If the
// file is missing or not valid, the rules in force stay, and the log says so,
// once. Each look reads the file by its name, so a file or a link that is renamed
// into its place counts, as editors and deployments write it.
type Follower struct {
	Now func() time.Time // the clock of decisions, for Confirmed; set before Watch

	name    string
	log     *slog.Logger
	compile func(text []byte) (*rules.Set, error)
	set     atomic.Pointer[rules.Set]
	problem atomic.Pointer[error] // why the file as it is now is not in force

	confirmed atomic.Pointer[time.Time]

	seen, applied reading // at the last look, and when the file was last in force or refused
	refused       error   // why applied is not in force; nil if it is
	changing      int     // how many looks in a row have read another text each
}

// Follow returns a follower of a file with the rules that it has. compile makes
// rules of a newer text.
func (f *File) Follow(log *slog.Logger, set *rules.Set, compile func(text []byte) (*rules.Set, error)) *Follower {
	follower := &Follower{name: f.Name, log: log, compile: compile, applied: reading{text: f.Text}}
	follower.set.Store(set)
	follower.problem.Store(new(error))
	follower.confirmed.Store(new(time.Time))
	return follower
}

// Rules returns the last valid rules.
func (f *Follower) Rules(context.Context, time.Time) (*rules.Set, error) { return f.set.Load(), nil }

// Confirmed returns when a look last found the file in force; the zero Time before
// the first look.
func (f *Follower) Confirmed() time.Time { return *f.confirmed.Load() }

// Problem returns why the file as it is now is not in force; nil if it is.
func (f *Follower) Problem() error { return *f.problem.Load() }

// Watch looks at the file at each tick, and reloads it at each signal, until the
// context ends.
func (f *Follower) Watch(ctx context.Context, ticks <-chan time.Time, signals <-chan os.Signal) {
	for {
		select {
		case <-ticks:
			f.Look()
		case <-signals:
			f.look(true)
		case <-ctx.Done():
			return
		}
	}
}

// Look reads the file. A text that differs from the one before counts once two
// looks in a row have read it: a program may be writing the file, and the first
// half of a rules file can be valid. Look waits for the file system.
func (f *Follower) Look() { f.look(false) }

// look is Look. asked says to reload the file, whether or not it has changed.
func (f *Follower) look(asked bool) {
	var now reading
	now.text, now.err = readRegular(f.name)
	before, changed := f.seen, !now.equal(f.applied)
	f.seen = now
	switch {
	case asked || changed && now.equal(before):
		f.apply(now)
	case changed:
		if f.changing++; f.changing%remindEvery == changingAfter {
			f.refuse(errChanging)
		}
		return
	}
	refused := f.refused
	f.changing = 0
	f.problem.Store(&refused)
	if refused == nil && f.Now != nil {
		now := f.Now()
		f.confirmed.Store(&now)
	}
}

// apply puts the rules that a look has read in force, if they are valid.
func (f *Follower) apply(now reading) {
	set, err := (*rules.Set)(nil), now.err
	if err == nil {
		set, err = f.compile(now.text)
	}
	if f.applied, f.refused = now, err; err != nil {
		f.refuse(err)
		return
	}
	f.set.Store(set)
	f.log.Info("rules reloaded", "file", f.name, "rules", len(set.Rules))
	for _, w := range set.Warnings {
		f.log.Warn("rules", "warning", w)
	}
}

// refuse notes and logs why the rules in force stay.
func (f *Follower) refuse(err error) {
	f.problem.Store(&err)
	f.log.Error("rules not reloaded, those in force stay", "file", f.name, "error", err)
}
