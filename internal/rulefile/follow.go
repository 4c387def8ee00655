package rulefile

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// LookEvery is how often to look at a rules file.
const LookEvery = time.Second

// remindEvery is after how many looks the log says again that the file system
// does not answer: a minute, because each of them waits for LookEvery.
const remindEvery = 60

var errIrregular = errors.New("it is not a regular file")

// Follower is an engine.RuleSource: the rules of a file, as it changes. If the
// file is missing or not valid, the rules in force stay, and the log says so,
// once. The file is looked up by its name each time, so a file that is renamed
// into its place counts, as editors and deployments write it.
type Follower struct {
	name string
	log  *slog.Logger
	read func() (*rules.Set, error)
	set  atomic.Pointer[rules.Set]

	// The file at the last look, and when it was last read; nil for none.
	seen, loaded os.FileInfo

	running chan struct{} // closed as the call of the file system under way ends; nil for none
	waited  int           // how many looks have found that call still under way
}

// NewFollower returns a follower of a file as it is now. Start completes it.
func NewFollower(name string, log *slog.Logger) *Follower {
	return &Follower{name: name, log: log, loaded: stat(name)}
}

// Start sets the rules that were read after NewFollower, and how to read newer
// ones.
func (f *Follower) Start(set *rules.Set, read func() (*rules.Set, error)) {
	f.set.Store(set)
	f.read = read
}

// Rules returns the last valid rules.
func (f *Follower) Rules(context.Context, time.Time) (*rules.Set, error) { return f.set.Load(), nil }

// Watch looks at the file at each tick, and reads it at each signal, until the
// context ends.
func (f *Follower) Watch(ctx context.Context, ticks <-chan time.Time, signals <-chan os.Signal) {
	for {
		select {
		case <-ticks:
			f.Look()
		case <-signals:
			f.run(f.reload)
		case <-ctx.Done():
			return
		}
	}
}

// Look reads the file if it has changed, but not if it has changed since the
// last look: an editor may be writing it, and the first half of a rules file can
// be valid. A file system that hangs delays Look by at most LookEvery.
func (f *Follower) Look() {
	f.run(func() {
		now := stat(f.name)
		settled := same(now, f.seen)
		if f.seen = now; settled && !same(now, f.loaded) {
			f.reload()
		}
	})
}

// run calls the file system, unless an earlier call is still under way after
// LookEvery: then the log says so, once a minute.
func (f *Follower) run(call func()) {
	late := time.After(LookEvery)
	if f.running != nil && !f.wait(late) {
		return
	}
	running := make(chan struct{})
	f.running, f.waited = running, 0
	go func() {
		defer close(running)
		call()
	}()
	f.wait(late)
}

// wait waits until the call under way ends, and reports whether it has.
func (f *Follower) wait(late <-chan time.Time) bool {
	select {
	case <-f.running:
		f.running = nil
		return true
	case <-late:
	}
	if f.waited++; f.waited%remindEvery == 1 {
		f.log.Error("rules are not reloaded until the file system answers, those in force stay", "file", f.name)
	}
	return false
}

func (f *Follower) reload() {
	f.loaded = stat(f.name) // before it is read: a later change is another
	set, err := f.readRegular()
	if err != nil {
		f.log.Error("rules not reloaded, those in force stay", "file", f.name, "error", err)
		return
	}
	f.set.Store(set)
	f.log.Info("rules reloaded", "file", f.name, "rules", len(set.Rules))
	for _, w := range set.Warnings {
		f.log.Warn("rules", "warning", w)
	}
}

// readRegular reads the file, unless a read might wait for another program.
func (f *Follower) readRegular() (*rules.Set, error) {
	if f.loaded != nil && !f.loaded.Mode().IsRegular() {
		return nil, errIrregular
	}
	return f.read()
}

// stat returns nil for a file that cannot be found.
func stat(name string) os.FileInfo {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// same reports whether a file has not been written or replaced between two
// looks.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
