// Package replay sends recorded traffic through the engine, one request after
// another in the order of their times. The time of each line is the clock, so a
// day of traffic takes seconds and is decided as it would have been on that
// day.
//
// A replay counts the delays of leaky buckets and does not wait for them: a
// delay comes after the time at which the line was logged.
package replay

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// maxDegraded is how many decisions in a row may lack the store before a replay
// gives up: otherwise an outage would cost a deadline for every line of the
// log.
const maxDegraded = 10

// ErrOutage is returned when the store has failed too many times running.
var ErrOutage = errors.New("gave up: the store failed 10 times running")

// Decider decides a request at a time, as engine.Engine does.
type Decider interface {
	Decide(ctx context.Context, now time.Time, req *request.Request) (*engine.Decision, error)
}

// Options set up a replay. The zero value of each but Engine is usable.
type Options struct {
	Engine    Decider
	Rules     *rules.Set // to report on each of its rules; nil to report only on those that decide
	Decisions io.Writer  // gets a line for each request and rule; nil for none
	// Seen gets each request with its decision, and as it was before the engine
	// located its client; nil for none. Its error ends the replay.
	Seen func(ctx context.Context, e *logs.Entry, sent *request.Request, d *engine.Decision) error
}

// Run replays recorded traffic. It counts lines that it cannot read, and goes
// on.
//
// The report is what was done so far, also with an error: the context's own if
// it ended, ErrOutage, ErrUnreadable, or a failure to read a log or to write
// decisions. A request under way when the context ends is decided and counted
// first.
func Run(ctx context.Context, t *logs.Traffic, o Options) (*Report, error) {
	started := time.Now()
	r := &run{tally: newTally(o.Rules), engine: o.Engine, seen: o.Seen, deciding: context.WithoutCancel(ctx)}
	if o.Decisions != nil {
		r.decisions = bufio.NewWriterSize(o.Decisions, 64<<10)
	}
	err := t.Each(ctx, &r.totals.Extent, r.decide)
	if r.decisions != nil {
		err = cmp.Or(err, writeError(r.decisions.Flush()))
	}
	report := r.report()
	report.Elapsed = time.Since(started).Seconds()
	return report, err
}

// run is a replay under way.
type run struct {
	tally
	engine    Decider
	seen      func(context.Context, *logs.Entry, *request.Request, *engine.Decision) error // nil for none
	sent      request.Request                                                              // before the engine, for seen
	deciding  context.Context                                                              // does not end: a decision is finished
	decisions *bufio.Writer                                                                // nil to write nothing
	degraded  int                                                                          // decisions in a row without the store
}

// decide decides a request. It finishes a decision also if the context ends.
func (r *run) decide(_ context.Context, e *logs.Entry) error {
	if r.seen != nil {
		r.sent = *e.Request // an engine changes its request
	}
	d, err := r.engine.Decide(r.deciding, e.Time, e.Request)
	if err != nil {
		return err
	}
	r.count(e, d)
	if r.seen != nil {
		if err := r.seen(r.deciding, e, &r.sent, d); err != nil {
			return err
		}
	}
	if err := r.write(e, d); err != nil {
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

func writeError(err error) error {
	if err != nil {
		return fmt.Errorf("writing decisions: %w", err)
	}
	return nil
}

// formula finds a key to quote, whose text clients may choose: one that begins as a
// formula does, maybe after a space, or as the quoted field of a table, which may
// hold a formula, tabs and ends of lines. It also finds one that begins with the
// quote itself, so that this can be taken off.
var formula = regexp.MustCompile(`^[-=+@'" ]`)

// write writes a line for each rule that covers and limits a request. A denied
// request has a line for the denying rule alone. The columns are Unix
// nanoseconds, rule, key, 1 (allowed) or 0, remaining, and retry-after in
// nanoseconds (0 if allowed, -1 for never), with tabs between them. Shadow rules
// have their own verdicts, and come last. Rules and keys are printable ASCII. A key
// that a spreadsheet could take for a formula has a quote before it.
func (r *run) write(e *logs.Entry, d *engine.Decision) error {
	if r.decisions == nil {
		return nil
	}
	for v := range d.All() {
		retryAfter, allowed := v.RetryAfter, 0
		if v.Terms.Denied { // by an override, for good
			retryAfter = limit.Never
		}
		if v.Allowed {
			allowed = 1
		}
		if _, err := fmt.Fprintf(r.decisions, "%d\t%s\t%s\t%d\t%d\t%d\n",
			e.Time.UnixNano(), v.Rule.Name, formula.ReplaceAllString(v.Key, "'$0"), allowed, v.Remaining, int64(retryAfter)); err != nil {
			return writeError(err)
		}
	}
	return nil
}

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
