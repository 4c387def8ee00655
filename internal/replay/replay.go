// Package replay sends recorded traffic through the engine, one request after
// another in the order of the files. The time of each line is the clock, so a day
// of traffic takes seconds and is decided as it would have been on that day.
//
// A replay counts the delays of leaky buckets and does not wait for them: a delay
// comes after the moment at which the line was logged.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// maxDegraded is how many decisions in a row may lack the store before a replay
// gives up: otherwise an outage would cost a deadline for every line of the log.
const maxDegraded = 10

var (
	// ErrUnreadable is returned for logs that have lines, but none that could be read.
	ErrUnreadable = errors.New("no line could be read")
	// ErrOutage is returned when the store has failed too many times running.
	ErrOutage = errors.New("gave up: the store failed 10 times running")
)

// Decider decides a request at a moment, as engine.Engine does.
type Decider interface {
	Decide(ctx context.Context, now time.Time, req *request.Request) (*engine.Decision, error)
}

// Options set up a replay. The zero value of each but Engine is usable.
type Options struct {
	Engine Decider
	Rules  []*rules.Rule // to report on, in this order, also those that no request meets
	// Speed paces the replay: so many seconds of the log's clock pass in one second. 0 stands for as fast as it goes.
	Speed     float64
	Clock     Clock
	Decisions io.Writer      // gets a line for each request and rule; nil for none
	Progress  func(Progress) // is called after every request; nil for none
	Warn      func(string)   // gets what a log says and a replay does not use; nil for none
}

// Progress says how far a replay has come.
type Progress struct {
	Requests int64
	Read     int64     // bytes of the logs, as stored
	Size     int64     // of all logs, in bytes; 0 where it is not known
	At       time.Time // the log's clock
}

// Run replays logs one after another. Lines that cannot be read are counted and passed over.
//
// The report is what was done so far, also with an error: the context's own if it ended, ErrOutage, ErrUnreadable, or a
// failure to read a log or to write decisions. A request under way when the context ends is decided and counted first.
func Run(ctx context.Context, logs []Log, o Options) (*Report, error) {
	r := newRun(o)
	started := r.clock.Now()
	err := newWalk(logs, &r.totals.Extent, o.Progress, o.Warn, r.entry).all(ctx, logs)
	if unwritten := r.decisions.flush(); err == nil {
		err = unwritten
	}
	report := r.report()
	report.Elapsed = r.clock.Now().Sub(started).Seconds()
	return report, err
}

// run is a replay under way.
type run struct {
	tally
	opts      Options
	clock     Clock
	pace      pacer
	decisions decisionWriter
	degraded  int // decisions running that the store had no part in
}

func newRun(o Options) *run {
	r := &run{opts: o, clock: o.Clock, tally: newTally(o.Rules), decisions: newDecisionWriter(o.Decisions)}
	if r.clock == nil {
		r.clock = RealClock{}
	}
	r.pace = pacer{speed: o.Speed, clock: r.clock}
	return r
}

// entry decides a request when its moment has come. Once begun, a decision is not broken off.
func (r *run) entry(ctx context.Context, e *Entry) error {
	if err := r.pace.wait(ctx, e.Time); err != nil {
		return err
	}
	d, err := r.opts.Engine.Decide(context.WithoutCancel(ctx), e.Time, e.Request)
	if err != nil {
		return err
	}
	r.count(e, d)
	if err := r.decisions.write(e, d); err != nil {
		return err
	}
	if !d.Degraded {
		r.degraded = 0
		return nil
	}
	if r.degraded++; r.degraded >= maxDegraded {
		return ErrOutage
	}
	return nil
}

// Failures keeps the first failure of a store, as an engine.Recorder: a replay in which on_error had to decide is no
// answer to what the rules would have done. It is safe for concurrent use.
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

// Decided does nothing: the report holds the decisions.
func (f *Failures) Decided(context.Context, time.Time, *engine.Decision) {}

// First returns the first failure, nil if there was none.
func (f *Failures) First() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}
