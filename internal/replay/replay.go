// Package replay sends recorded traffic through the engine. Lines are judged one after another, in the order of the
// files, and each line's own time is the clock: a day of traffic is decided in seconds as it would have been that day.
// The turns that a leaky bucket gives are counted and not waited for: they come after the moment at which a line was logged.
package replay

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// maxDegraded is how many decisions running may be made without the store before a replay gives up: an outage would
// otherwise cost a deadline for every line of the log.
const maxDegraded = 10

var (
	// ErrUnreadable is returned for logs that have lines, but none that could be read.
	ErrUnreadable = errors.New("no line could be read")
	// ErrOutage is returned when the store has failed too many times running.
	ErrOutage = errors.New("gave up: the store failed 10 times running")
)

// Decider judges a request at a moment, as engine.Engine does.
type Decider interface {
	Decide(ctx context.Context, now time.Time, req *rules.Request) (*engine.Decision, error)
}

// Options set up a replay. The zero value of each but Engine is usable.
type Options struct {
	Engine Decider
	Rules  []string // names of rules to report on, in this order, also those that no request meets
	// Speed paces the replay: so many seconds of the log's clock pass in one second. 0 stands for as fast as it goes.
	Speed     float64
	Clock     Clock
	Decisions io.Writer      // gets a line for each request and rule; nil for none
	Progress  func(Progress) // is told after every request; nil for none
	Warn      func(string)   // is told what a log says in vain; nil for none
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
	r := newRun(o, logs)
	started := r.clock.Now()
	err := r.all(ctx, logs)
	if unwritten := r.decisions.flush(); err == nil {
		err = unwritten
	}
	report := r.tally.report()
	report.Elapsed = r.clock.Now().Sub(started)
	if err == nil && report.Requests == 0 && report.Skipped > 0 {
		err = ErrUnreadable
	}
	return report, err
}

// run is a replay under way.
type run struct {
	opts      Options
	clock     Clock
	pace      pacer
	tally     tally
	decisions decisionWriter
	progress  Progress
	degraded  int // decisions running that the store had no part in
}

func newRun(o Options, logs []Log) *run {
	r := &run{opts: o, clock: o.Clock, tally: newTally(o.Rules), decisions: newDecisionWriter(o.Decisions)}
	if r.clock == nil {
		r.clock = RealClock{}
	}
	r.pace = pacer{speed: o.Speed, clock: r.clock}
	r.progress.Size = totalSize(logs)
	if r.opts.Warn == nil {
		r.opts.Warn = func(string) {}
	}
	if r.opts.Progress == nil {
		r.opts.Progress = func(Progress) {}
	}
	return r
}

func (r *run) all(ctx context.Context, logs []Log) error {
	for i := range logs {
		if err := r.log(ctx, &logs[i]); err != nil {
			return err
		}
	}
	return nil
}

// log replays one log.
func (r *run) log(ctx context.Context, log *Log) error {
	in, err := openReader(ctx, log, &r.progress.Read, r.opts.Warn)
	if err != nil {
		return err
	}
	defer in.Close()
	for ctx.Err() == nil {
		e, err := in.next()
		var unreadable *LineError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &unreadable):
			r.tally.skip(unreadable)
			continue
		case err != nil:
			return err
		}
		if err := r.entry(ctx, e); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// entry judges a request when its moment has come. Once begun, a decision is not broken off.
func (r *run) entry(ctx context.Context, e *Entry) error {
	if err := r.pace.wait(ctx, e.Time); err != nil {
		return err
	}
	if err := r.judge(context.WithoutCancel(ctx), e); err != nil {
		return err
	}
	r.progress.Requests++
	r.progress.At = e.Time
	r.opts.Progress(r.progress)
	return nil
}

func (r *run) judge(ctx context.Context, e *Entry) error {
	d, err := r.opts.Engine.Decide(ctx, e.Time, e.Request)
	if err != nil {
		return err
	}
	r.tally.count(e, d)
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
