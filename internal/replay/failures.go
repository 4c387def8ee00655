package replay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
)

// Failures is an engine.Recorder that keeps the first failure of a store: if
// on_error had to decide, a replay does not show what the rules would have
// done. It is safe for concurrent use.
type Failures struct {
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

// StaleOverride does nothing: rules diff and validate report stale overrides.
func (f *Failures) StaleOverride(context.Context, time.Time, string, string) {}

// Decided does nothing: the report has the decisions.
func (f *Failures) Decided(context.Context, time.Time, *engine.Decision) {}

// First returns the first failure, nil if there was none.
func (f *Failures) First() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}
