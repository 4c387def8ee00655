package replay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// Overrides are the overrides set by command, at the time of the log. Like
// those of the document they apply until they end, whenever they were set. A
// grant applies from when it was given until it ends.
type Overrides struct {
	Source engine.OverrideSource
	// At is passed to Source as the time, instead of the log's clock. With the
	// log's clock, a cache of ten seconds would read each key again for every
	// ten seconds of the log.
	At time.Time
}

// Override returns the override of a key, without the grants that were given
// after now.
func (o Overrides) Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	found, err := o.Source.Override(ctx, o.At, rule, key)
	later := func(g rules.Grant) bool { return now.Before(g.From) }
	if err != nil || found == nil || !slices.ContainsFunc(found.Grants, later) {
		return found, err
	}
	then := *found // others read it too
	then.Grants = slices.DeleteFunc(slices.Clone(found.Grants), later)
	return &then, nil
}

// Failures is an engine.Observer that keeps the first failure of a store: if
// on_error had to decide, a replay does not show what the rules would have
// done. It is safe for concurrent use.
type Failures struct {
	engine.NoObserver
	mu    sync.Mutex
	first error
}

// StoreFailed keeps the first failure.
func (f *Failures) StoreFailed(_ context.Context, action, rule, key string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = fmt.Errorf("rule %s, key %s: %s: %w", rule, key, action, err)
	}
}

// First returns the first failure, nil if there was none.
func (f *Failures) First() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}
