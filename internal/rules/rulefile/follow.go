package rulefile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// LookEvery is how often to look at a rules file.
const LookEvery = time.Second

// A Follower counts time in looks, one for each tick of LookEvery.
const (
	readAfter   = 2  // looks at a file that keeps changing, from which on it is read at each
	longAfter   = 10 // looks at a file whose text keeps changing, before the log says so
	hangsAfter  = 5  // looks that have waited for the file system, before it counts as hanging
	remindEvery = 60 // looks between two lines of the log
)

// maxAbandoned bounds the looks that hang and whose result no longer counts: each
// keeps a goroutine, and most keep a thread.
const maxAbandoned = 3

// What a look does, as the log names it.
const (
	finding   = "finding the file"
	following = "following the link"
	reading   = "reading the file"
)

var (
	errIrregular = errors.New("it is not a regular file")
	errChanging  = errors.New("its text keeps changing: write another file, and rename it to this name")
)

// Follower is an engine.RuleSource: the rules of a file, as it changes. If the
// file is missing or not valid, the rules in force stay, and the log says so,
// once. The file is looked up by its name each time, so a file that is renamed
// into its place counts, as editors and deployments write it.
type Follower struct {
	name    string
	log     *slog.Logger
	compile func(text []byte) (*rules.Set, error)
	set     atomic.Pointer[rules.Set]
	problem atomic.Pointer[error] // why the file as it is now is not in force; nil for none

	// Calls of the file system, which tests replace.
	lstat, stat func(name string) (os.FileInfo, error)
	read        func(name string) ([]byte, error)

	text         []byte      // that was last loaded or refused; nil for none
	refused      error       // of text; nil if it is in force
	seen, loaded os.FileInfo // at the last look, and when the file was last read; nil for none
	changing     int         // how many looks in a row have found another file than the loaded one
	partial      []byte      // that the last of them read; nil for none
	asked        bool        // to read the file even if it has not changed

	current   *look   // under way; nil for none
	abandoned []*look // that may still hang

	looks, nextHang, nextError int // so far, and when a line may be logged again
}

// look is a look at the file in the background, which reads the file if it is
// due.
type look struct {
	asked      bool         // to read the file even if it has not changed
	doing      atomic.Value // finding, following or reading
	link, file os.FileInfo  // at the name, and where it leads; nil for none
	settled    bool         // the file was the same at the last look
	due        bool         // the file was read, with this result:
	text       []byte
	err        error
	ended      chan struct{} // has a value when all of these are set

	waited int       // how often a Look has waited for it for LookEvery
	moved  chan bool // gets whether the name leads to another file by now; nil if nothing finds that out
}

// Follow returns a follower of a file with the rules that it has. compile makes
// rules of a newer text.
func (f *File) Follow(log *slog.Logger, set *rules.Set, compile func(text []byte) (*rules.Set, error)) *Follower {
	follower := &Follower{name: f.Name, log: log, compile: compile, text: f.Text, loaded: f.info}
	follower.lstat, follower.stat, follower.read = os.Lstat, os.Stat, readRegular
	follower.set.Store(set)
	return follower
}

// Rules returns the last valid rules.
func (f *Follower) Rules(context.Context, time.Time) (*rules.Set, error) { return f.set.Load(), nil }

// Problem returns why the file as it is now is not in force; nil if it is.
func (f *Follower) Problem() error {
	if err := f.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// settle notes whether the text that was last read is in force.
func (f *Follower) settle() {
	if err := f.refused; err != nil {
		f.problem.Store(&err)
	} else {
		f.problem.Store(nil)
	}
}

// logRefused logs that the rules in force stay.
func (f *Follower) logRefused(err error) {
	f.log.Error("rules not reloaded, those in force stay", "file", f.name, "error", err)
}

// Watch looks at the file at each tick, and reads it at each signal, until the
// context ends.
func (f *Follower) Watch(ctx context.Context, ticks <-chan time.Time, signals <-chan os.Signal) {
	for {
		select {
		case <-ticks:
			f.Look()
		case <-signals:
			f.asked = true
			f.Look()
		case <-ctx.Done():
			return
		}
	}
}

// Look reads the file if it has changed. The text of a file that has also changed
// since the last look counts once two looks in a row have read the same: a program
// may be writing it, and the first half of a rules file can be valid. A file
// system that hangs delays Look by at most LookEvery. A look that hangs is
// abandoned once the name leads to another file.
func (f *Follower) Look() {
	f.looks++
	if f.current == nil {
		f.current = f.start()
	}
	l := f.current
	if l.waited >= hangsAfter && len(l.ended) == 0 {
		f.hangs(l)
	}
	select {
	case <-l.ended:
		f.current = nil
		f.apply(l)
	case moved := <-l.moved:
		if l.moved = nil; moved {
			f.abandoned, f.current = append(f.abandoned, l), nil
		}
	case <-time.After(LookEvery):
		l.waited++
	}
}

// start begins a look in the background.
func (f *Follower) start() *look {
	l := &look{asked: f.asked, ended: make(chan struct{}, 1)}
	seen, loaded, keepsChanging := f.seen, f.loaded, f.changing >= readAfter-1
	f.asked = false
	l.doing.Store(finding)
	go func() {
		defer func() { l.ended <- struct{}{} }()
		l.link, _ = f.lstat(f.name)
		l.doing.Store(following)
		if l.file = l.link; l.link != nil && l.link.Mode()&fs.ModeSymlink != 0 {
			l.file, _ = f.stat(f.name)
		}
		l.doing.Store(reading)
		l.settled = same(l.file, seen)
		if l.due = l.asked || !same(l.file, loaded) && (l.settled || keepsChanging); !l.due {
			return
		}
		if l.err = errIrregular; l.file == nil || l.file.Mode().IsRegular() {
			l.text, l.err = f.read(f.name)
		}
	}()
	return l
}

// hangs logs that a look hangs, and finds out in the background whether the name
// leads to another file by now.
func (f *Follower) hangs(l *look) {
	if f.mayLog(&f.nextHang) {
		f.log.Error("rules are not reloaded until the file system answers, those in force stay", "file", f.name, "hangs", l.doing.Load())
	}
	f.abandoned = slices.DeleteFunc(f.abandoned, func(l *look) bool { return len(l.ended) > 0 })
	if l.moved != nil || len(f.abandoned) == maxAbandoned {
		return
	}
	moved := make(chan bool, 1)
	l.moved = moved
	go func() {
		switch l.doing.Load() {
		case following:
			link, _ := f.lstat(f.name)
			moved <- !same(link, l.link)
		case reading:
			file, _ := f.stat(f.name)
			moved <- !os.SameFile(file, l.file)
		default:
			moved <- false
		}
	}()
}

// apply notes what a look has found, and puts newer rules in force.
func (f *Follower) apply(l *look) {
	f.seen = l.file
	f.changing++
	whole := l.due && f.isWhole(l)
	if whole {
		f.reload(l)
	}
	if whole || same(l.file, f.loaded) {
		f.changing, f.partial = 0, nil
		f.settle()
	}
}

// isWhole reports whether a look has read a whole text, as far as can be told.
func (f *Follower) isWhole(l *look) bool {
	if l.settled || l.asked || l.err != nil || f.partial != nil && bytes.Equal(l.text, f.partial) {
		return true
	}
	f.partial = l.text
	if f.changing >= longAfter {
		f.problem.Store(&errChanging)
		if f.mayLog(&f.nextError) {
			f.logRefused(errChanging)
		}
	}
	return false
}

// reload replaces the rules in force by those that a look has read, if they are
// others and valid.
func (f *Follower) reload(l *look) {
	if !l.asked && l.err == nil && f.text != nil && bytes.Equal(l.text, f.text) {
		f.loaded = l.file
		return
	}
	var set *rules.Set
	if l.err == nil {
		set, l.err = f.compile(l.text)
	}
	if l.err != nil && !l.settled && !l.asked && !f.mayLog(&f.nextError) {
		return // it is read again, at the latest when it no longer changes
	}
	f.loaded, f.text, f.refused = l.file, l.text, l.err // the file as it was before the read: a later change is another
	if l.err != nil {
		f.logRefused(l.err)
		return
	}
	f.set.Store(set)
	f.log.Info("rules reloaded", "file", f.name, "rules", len(set.Rules))
	for _, w := range set.Warnings {
		f.log.Warn("rules", "warning", w)
	}
}

// mayLog reports whether the last line of a kind is a minute old.
func (f *Follower) mayLog(next *int) bool {
	if f.looks < *next {
		return false
	}
	*next = f.looks + remindEvery
	return true
}

// same reports whether a file has not been written or replaced between two
// looks.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
