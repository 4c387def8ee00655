package rulefile

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// LookEvery is how often to look at a rules file.
const LookEvery = time.Second

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
			f.reload()
		case <-ctx.Done():
			return
		}
	}
}

// Look reads the file if it has changed, but not if it has changed since the
// last look: an editor may be writing it, and the first half of a rules file can
// be valid.
func (f *Follower) Look() {
	now := stat(f.name)
	settled := same(now, f.seen)
	if f.seen = now; settled && !same(now, f.loaded) {
		f.reload()
	}
}

func (f *Follower) reload() {
	f.loaded = stat(f.name) // before it is read: a later change is another
	set, err := f.read()
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
