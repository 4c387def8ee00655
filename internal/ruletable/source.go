package ruletable

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	// refreshEvery is how old the rules may be before a request starts to look for newer ones.
	refreshEvery = 10 * time.Second
	// refreshTimeout bounds one look, in real time.
	refreshTimeout = 5 * time.Second
	// refreshWait is how long the request that starts a look waits for it, in real time.
	refreshWait = 100 * time.Millisecond
	// startTimeout bounds the first look, in real time. A Lambda has 5 s for a request, and is ended if it takes longer: it
	// then says nothing of why, and the next request starts it anew.
	startTimeout = 3 * time.Second
	// fallbackAfter bounds the first look where there are other rules to start with, in real time.
	fallbackAfter = 2 * time.Second
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
//
// The first rules are read once for all who wait for them. A first look that fails is not kept: the next request tries
// again.
type Source struct {
	table   *Table
	opts    SourceOptions
	current atomic.Pointer[inForce] // nil before the first rules
	flights singleflight.Group      // the first look, under one name
}

// inForce are rules as one look has left them. They never change: the next look puts others in their place.
type inForce struct {
	set     *rules.Set
	version int64 // 0 for the fallback
	checked time.Time
	looking atomic.Bool // set by the request that looks again
}

// SourceOptions set up a Source.
type SourceOptions struct {
	// Report is told of every look that fails, but for a first one without a fallback: that is the requests' own error.
	Report func(error)
	// Parse reads a document, nil stands for rulefile.Parse.
	Parse func(file string, document []byte) (*rules.Set, error)
	// Fallback is what the source starts with if the table cannot be read then, or holds nothing valid: a copy of the rules
	// from the day of the deployment, which goes at the first look that succeeds; nil for none.
	Fallback *rules.Set
}

// NewSource returns a source that reads the table.
func NewSource(table *Table, o SourceOptions) *Source {
	if o.Parse == nil {
		o.Parse = rulefile.Parse
	}
	return &Source{table: table, opts: o}
}

// Rules returns the rules in force as last read. Before there are any it waits for the table, 3 s at most and no longer
// than its context, and fails if the table cannot be read and there is no fallback; a call that starts a look waits a
// moment; all others answer at once.
func (s *Source) Rules(ctx context.Context, now time.Time) (*rules.Set, error) {
	seen := s.current.Load()
	switch {
	case seen == nil:
		return s.wait(ctx, now)
	case !fresh(seen.checked, now) && seen.looking.CompareAndSwap(false, true):
		return s.lookAgain(ctx, now, seen), nil
	}
	return seen.set, nil
}

// wait reads the first rules, together with all others who need them. Whoever gives up leaves the look to them.
func (s *Source) wait(ctx context.Context, now time.Time) (*rules.Set, error) {
	flight := s.flights.DoChan("", func() (any, error) {
		if seen := s.current.Load(); seen != nil {
			return seen.set, nil // an earlier flight has landed since
		}
		return s.start(context.WithoutCancel(ctx), now)
	})
	select {
	case landed := <-flight:
		if landed.Err != nil {
			return nil, landed.Err
		}
		return landed.Val.(*rules.Set), nil
	case <-ctx.Done():
		return nil, s.table.errorf("waiting for the first rules: %w", context.Cause(ctx))
	}
}

// start takes the first rules: the table's, or else the fallback.
func (s *Source) start(ctx context.Context, now time.Time) (*rules.Set, error) {
	longest := startTimeout
	if s.opts.Fallback != nil {
		longest = fallbackAfter
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	set, version, err := s.load(ctx, 0)
	if err != nil {
		if s.opts.Fallback == nil {
			return nil, err
		}
		s.opts.Report(fmt.Errorf("reading rules, starting with the copy from the deployment: %w", err))
		set, version = s.opts.Fallback, 0
	}
	s.current.Store(&inForce{set: set, version: version, checked: now})
	return set, nil
}

// lookAgain starts a look and waits for it a moment: a Lambda that answered first would be frozen in the middle of it. A
// look that takes longer goes on beside the request.
func (s *Source) lookAgain(ctx context.Context, now time.Time, last *inForce) *rules.Set {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.refresh(context.WithoutCancel(ctx), now, last)
	}()
	select {
	case <-done:
	case <-time.After(refreshWait):
	}
	return s.current.Load().set
}

// refresh looks for rules newer than the last. Where there are none, or none that can be taken, those stay.
func (s *Source) refresh(ctx context.Context, now time.Time, last *inForce) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	next := &inForce{set: last.set, version: last.version, checked: now}
	switch set, version, err := s.load(ctx, last.version); {
	case err != nil:
		s.opts.Report(fmt.Errorf("refreshing rules, keeping %s: %w", named(last.version), err))
	case set != nil:
		next.set, next.version = set, version
	}
	s.current.Store(next)
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
