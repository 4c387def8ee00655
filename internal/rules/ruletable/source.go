package ruletable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	// refreshEvery is how old rules may be before a request looks for newer ones.
	// New rules must be in force within ten seconds, so that two reads which
	// fail at once, or one that fails by rulesTimeout, have time to be repeated.
	refreshEvery = 5 * time.Second
	// rulesTimeout bounds one read, in real time. A Lambda is killed without a log
	// line if a request takes longer than its 5 s.
	rulesTimeout = 3 * time.Second
	// fallbackAfter bounds the first read if there is a fallback, in real time.
	fallbackAfter = 2 * time.Second
)

// Source serves the rules in force, as cache.Reloaded does: the rules may be five
// seconds old before a request looks for newer ones. If the table cannot be
// read, or its rules are invalid, the running rules stay in force and the
// failure is reported.
type Source struct {
	table *Table
	opts  SourceOptions
	cache *cache.Reloaded[tableName, inForce]
	// confirmed is the time of the latest read that found the rules in force to
	// be the newest; the zero Time before the first.
	confirmed atomic.Pointer[time.Time]
}

type tableName string

func (n tableName) String() string { return "table " + string(n) }

// inForce is a compiled version of the rules.
type inForce struct {
	set     *rules.Set // nil before the first rules
	version int64      // 0 for the fallback
}

// SourceOptions set up a Source.
type SourceOptions struct {
	// Report receives every failure that no request gets as its error.
	Report func(error)
	// Prepare completes compiled rules before they come into force, or refuses
	// them; nil does neither. name says in messages where the rules are.
	Prepare func(name string, set *rules.Set) error
	// Fallback is a copy of the rules from the deployment. It applies if the
	// first read fails, until a later read succeeds; nil for none.
	Fallback *rules.Set
	// AllowUnpublished allows all requests, with degraded decisions, while the
	// table is readable and nothing was ever published to it. Without it, or
	// with a fallback, such a table counts as one that cannot be read.
	AllowUnpublished bool
}

// NewSource returns a source that reads the table.
func NewSource(table *Table, o SourceOptions) *Source {
	s := &Source{table: table, opts: o}
	s.confirmed.Store(&time.Time{})
	first := rulesTimeout
	if o.Fallback != nil {
		first = fallbackAfter
	}
	s.cache = cache.NewReloaded(cache.Options[tableName, inForce]{
		Load: s.load, FirstTimeout: first, Timeout: rulesTimeout, Fresh: refreshEvery,
		Report: func(_ tableName, last inForce, err error) {
			kept := "the copy from the deployment"
			switch {
			case last.version != 0:
				kept = fmt.Sprintf("version %d", last.version)
			case last.set.Unpublished:
				kept = "none"
			}
			o.Report(fmt.Errorf("refreshing rules, keeping %s: %w", kept, err))
		},
	})
	return s
}

// Rules returns the rules in force as last read. The first calls wait for the
// table, for 3 s and as long as their context lets them. They fail if the table
// cannot be read and nothing stands in for its rules; the next call then reads
// again.
// Later calls never fail. One in five seconds waits for at most 100 ms, and so do
// all calls that come after a pause.
func (s *Source) Rules(ctx context.Context, now time.Time) (*rules.Set, error) {
	r, err := s.cache.Get(ctx, now, tableName(s.table.name))
	return r.set, err
}

// Confirmed returns when the table was last read and held no newer rules than
// those in force. It is the zero Time before the first such read.
func (s *Source) Confirmed() time.Time {
	return *s.confirmed.Load()
}

// load returns the rules in force, or what stands in place of the first ones.
func (s *Source) load(ctx context.Context, now time.Time, _ tableName, last inForce) (inForce, error) {
	next, err := s.newest(ctx, last)
	if err == nil || errors.Is(err, ErrNone) && s.opts.AllowUnpublished && (last.set == nil || last.set.Unpublished) {
		s.confirmed.Store(&now)
	}
	switch {
	case err == nil:
		return next, nil
	case last.set == nil && s.opts.Fallback != nil:
		s.opts.Report(fmt.Errorf("reading rules, starting with the copy from the deployment: %w", err))
		return inForce{set: s.opts.Fallback}, nil
	case !errors.Is(err, ErrNone):
	case last.set == nil && s.opts.AllowUnpublished:
		s.opts.Report(fmt.Errorf("every request is allowed until rules are published: %w", err))
		return inForce{set: rules.NewUnpublished()}, nil
	case last.set != nil && last.set.Unpublished:
		return last, nil // reported at the start
	}
	return next, err
}

// newest reads the pointer, and the version too if last is another one and the
// pointer does not hold its JSON.
func (s *Source) newest(ctx context.Context, last inForce) (inForce, error) {
	p, err := s.table.pointer(ctx)
	if err != nil || p.Version == last.version {
		return last, err
	}
	set, err := s.table.pointed(ctx, p)
	if err == nil && s.opts.Prepare != nil {
		err = s.opts.Prepare(s.table.nameOf(p.Version), set)
	}
	return inForce{set: set, version: p.Version}, err
}
