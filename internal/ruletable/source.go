package ruletable

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

const (
	// refreshEvery is how old the rules may be before a request starts to look for newer ones.
	refreshEvery = 10 * time.Second
	// refreshTimeout bounds one look, in real time.
	refreshTimeout = 5 * time.Second
	// refreshWait is how long the request that starts a look waits for it, in real time.
	refreshWait = 100 * time.Millisecond
	// startTimeout bounds the first look where there are other rules to start with, in real time.
	startTimeout = 2 * time.Second
)

// fresh reports whether what was seen then still goes, at most ten seconds later. Requests that run side by side bring
// moments that differ a little, so one before it goes too; but a clock that was put back must not keep the old for ever.
func fresh(then, now time.Time) bool {
	age := now.Sub(then)
	return -refreshEvery < age && age < refreshEvery
}

// Source serves the rules in force. A request that finds them ten seconds old starts a look at the pointer, waits for it a
// moment, and goes on with what there is: a Lambda does nothing between requests, so no timer would do. Rules that cannot
// be read or are not valid leave the running ones as they are, and are reported.
type Source struct {
	table *Table
	opts  SourceOptions

	mu      sync.Mutex
	set     *rules.Set
	version int64 // 0 for the fallback
	checked time.Time
	looking bool
}

// SourceOptions set up a Source.
type SourceOptions struct {
	// Report is told of every look that fails.
	Report func(error)
	// Parse reads a document, nil stands for rules.Parse.
	Parse func(file string, document []byte) (*rules.Set, error)
	// Fallback is what the source starts with if the table cannot be read then, or holds nothing valid: a copy of the rules
	// from the day of the deployment, which goes at the first look that succeeds; nil for none.
	Fallback *rules.Set
}

// NewSource returns a source that reads the table.
func NewSource(table *Table, o SourceOptions) *Source {
	if o.Parse == nil {
		o.Parse = rules.Parse
	}
	return &Source{table: table, opts: o}
}

// Rules returns the rules in force as last read. The first call waits for the table, and fails if it cannot be read and
// there is no fallback; one that starts a look waits a moment; all others answer at once.
func (s *Source) Rules(ctx context.Context, now time.Time) (*rules.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		if err := s.start(ctx, now); err != nil {
			return nil, err
		}
	}
	if !fresh(s.checked, now) && !s.looking {
		s.looking = true
		s.waitFor(ctx, now, s.version)
	}
	return s.set, nil
}

// start takes the first rules: the table's, or else the fallback.
func (s *Source) start(ctx context.Context, now time.Time) error {
	longest := refreshTimeout
	if s.opts.Fallback != nil {
		longest = startTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	set, version, err := s.load(ctx, 0)
	if err != nil {
		if s.opts.Fallback == nil {
			return err
		}
		s.opts.Report(fmt.Errorf("reading rules, starting with the copy from the deployment: %w", err))
		set, version = s.opts.Fallback, 0
	}
	s.set, s.version, s.checked = set, version, now
	return nil
}

// waitFor starts a look and waits for it a moment, without the lock: a Lambda that answered first would be frozen in the
// middle of it. A look that takes longer goes on beside the request.
func (s *Source) waitFor(ctx context.Context, now time.Time, have int64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.refresh(context.WithoutCancel(ctx), now, have)
	}()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-done:
	case <-time.After(refreshWait):
	}
}

func (s *Source) refresh(ctx context.Context, now time.Time, have int64) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	set, version, err := s.load(ctx, have)
	s.take(set, version, now)
	if err != nil {
		s.opts.Report(fmt.Errorf("refreshing rules, keeping %s: %w", named(have), err))
	}
}

// take ends a look; a nil set leaves the rules as they are.
func (s *Source) take(set *rules.Set, version int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looking, s.checked = false, now
	if set != nil {
		s.set, s.version = set, version
	}
}

func named(version int64) string {
	if version == 0 {
		return "the copy from the deployment"
	}
	return fmt.Sprintf("version %d", version)
}

// load reads the pointer, and the version that it names; the set is nil if that is the version at hand.
func (s *Source) load(ctx context.Context, have int64) (*rules.Set, int64, error) {
	version, err := s.table.Current(ctx)
	if err != nil || version == have {
		return nil, version, err
	}
	v, err := s.table.Get(ctx, version)
	if err != nil {
		return nil, 0, err
	}
	set, err := s.opts.Parse(fmt.Sprintf("dynamodb://%s version %d", s.table.name, version), v.Document)
	return set, version, err
}
