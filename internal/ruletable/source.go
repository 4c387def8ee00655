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
)

// Source serves the rules in force. A request that finds them ten seconds old starts a look at the pointer, waits for it a
// moment, and goes on with what there is: a Lambda does nothing between requests, so no timer would do. Rules that cannot
// be read or are not valid leave the running ones as they are, and are reported.
type Source struct {
	table  *Table
	report func(error)

	mu      sync.Mutex
	set     *rules.Set
	version int64
	checked time.Time
	looking bool
}

// NewSource returns a source that reads the table; report is told of every look that fails.
func NewSource(table *Table, report func(error)) *Source {
	return &Source{table: table, report: report}
}

// Rules returns the rules in force as last read. The first call waits for the table, and fails if it cannot be read; one
// that starts a look waits a moment; all others answer at once.
func (s *Source) Rules(ctx context.Context, now time.Time) (*rules.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		bounded, cancel := context.WithTimeout(ctx, refreshTimeout)
		defer cancel()
		set, version, err := s.load(bounded, 0)
		if err != nil {
			return nil, err
		}
		s.set, s.version, s.checked = set, version, now
	}
	age := now.Sub(s.checked) // negative if the clock has been put back since
	if (age >= refreshEvery || age < 0) && !s.looking {
		s.looking = true
		s.waitFor(ctx, now, s.version)
	}
	return s.set, nil
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
		s.report(fmt.Errorf("refreshing rules, keeping version %d: %w", have, err))
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
	set, err := rules.Parse(fmt.Sprintf("dynamodb://%s version %d", s.table.name, version), v.Document)
	return set, version, err
}
