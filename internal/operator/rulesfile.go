package operator

import (
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// lookEvery is how often a rules file is looked at.
const lookEvery = time.Second

// rulesFile is an engine.RuleSource: the rules of a file, as it changes. If the
// file is missing or not valid, the rules in force stay, and the log says so,
// once. The file is looked up by its name each time, so a file that is renamed
// into its place counts, as editors and deployments write it.
type rulesFile struct {
	name string
	read func(name string) (*rules.Set, error)
	log  *slog.Logger
	set  atomic.Pointer[rules.Set]

	// The file at the last look, and when it was last read; nil for none.
	seen, loaded os.FileInfo
}

// Rules returns the last valid rules.
func (f *rulesFile) Rules(context.Context, time.Time) (*rules.Set, error) { return f.set.Load(), nil }

// watch looks at the file at each tick, and reads it at each signal, until the
// context ends.
func (f *rulesFile) watch(ctx context.Context, ticks <-chan time.Time, signals <-chan os.Signal) {
	for {
		select {
		case <-ticks:
			f.look()
		case <-signals:
			f.reload()
		case <-ctx.Done():
			return
		}
	}
}

// look reads the file if it has changed, but not if it has changed since the
// last look: somebody may be writing it, and the first half of a rules file can
// be valid.
func (f *rulesFile) look() {
	now := stat(f.name)
	settled := same(now, f.seen)
	if f.seen = now; settled && !same(now, f.loaded) {
		f.reload()
	}
}

func (f *rulesFile) reload() {
	f.loaded = stat(f.name) // before it is read: a later change is another
	set, err := f.read(f.name)
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
