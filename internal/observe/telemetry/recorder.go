// Package telemetry counts what a limiter does, once for all who report it: the
// Lambda's log lines, Prometheus and the status of `slidegate serve`. Package
// metric says what each number means.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/request"
)

// Options set up a Recorder. All of them are optional.
type Options struct {
	// Next is an observer that also sees everything the Recorder sees.
	Next engine.Observer
	// Now has the Recorder count and time the calls of the store. It is
	// time.Now. Leave it out for a store whose client reports each request to
	// Sent: one call may send several.
	Now func() time.Time
	// Took gets the time of each call that Now measures.
	Took func(context.Context, time.Duration)
	// RulesConfirmed returns when the rules in force were last found to be the
	// newest, by the clock of decisions; the zero Time for never.
	RulesConfirmed func() time.Time
	// BreakerOpen is of the counters' breaker; RulesBreakerOpen of the rules table's,
	// nil for none.
	BreakerOpen, RulesBreakerOpen func() bool

	LocalKeys func() int // how many keys have counters of on_error: local
	// WithoutTopKeys spares denials the mutex and the sketch of the top keys.
	WithoutTopKeys bool
}

// Recorder counts decisions and requests to the store. It is an engine.Observer,
// and safe for concurrent use.
//
// Trade-off: an allowed request costs a few atomic additions, and a lookup for each
// of its rules. A mutex and a
// sketch are only for requests that were denied or came near a limit, so the top
// keys are approximate. Snapshot.TopDenied says how far.
type Recorder struct {
	engine.Observer
	opts Options

	counters map[string]*atomic.Int64 // by metric; the map never changes
	rules    sync.Map                 // from a rule's name to its *ruleCounters
	latency  latencies

	decisions, degraded  *atomic.Int64 // of counters, for the path of every request
	version              atomic.Int64  // of the rules in force
	started              atomic.Int64  // time of the first decision in Unix nanoseconds; 0 before it
	age, open, rulesOpen highest       // of RulesAge in nanoseconds, BreakerOpen and RulesBreakerOpen

	denied, near topKeys

	taking sync.Mutex
	taken  *Snapshot // all that Take has returned so far; nil before the first
}

// ruleCounters are those metrics of one rule that also count by rule, and the
// allowed requests that it covers.
type ruleCounters struct{ allowed, denied, shadowDenied, near atomic.Int64 }

// highest is the most that a state was at a decision since the last Take.
type highest struct{ atomic.Int64 }

func (h *highest) add(value int64) {
	for {
		most := h.Load()
		if value <= most || h.CompareAndSwap(most, value) {
			return
		}
	}
}

// NewRecorder returns a Recorder whose counters are all 0.
func NewRecorder(o Options) *Recorder {
	r := &Recorder{opts: o, Observer: cmp.Or[engine.Observer](o.Next, engine.NoObserver{}), counters: map[string]*atomic.Int64{}}
	for _, m := range metric.All {
		if m.Kind == metric.Counter {
			r.counters[m.Name] = &atomic.Int64{}
		}
	}
	r.decisions, r.degraded = r.counters[metric.Decisions], r.counters[metric.Degraded]
	return r
}

func (r *Recorder) add(name string, n int64) { r.counters[name].Add(n) }

// Decided counts a decision.
func (r *Recorder) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	r.Observer.Decided(ctx, now, req, d)
	r.decisions.Add(1)
	if d.Degraded {
		r.degraded.Add(1)
	}
	r.sample(now, d)
	if !d.Allowed {
		r.countDenial(now, d)
		return
	}
	for v := range d.All() {
		r.rule(v.Rule.Name).allowed.Add(1)
	}
	for i := range d.Verdicts {
		r.countNear(now, &d.Verdicts[i])
	}
	r.countShadows(d)
}

// sample reads the states that decisions depend on.
func (r *Recorder) sample(now time.Time, d *engine.Decision) {
	r.version.Store(d.RulesVersion())
	if r.started.Load() == 0 {
		r.started.CompareAndSwap(0, now.UnixNano())
	}
	r.age.add(r.rulesAge(now))
	r.open.add(isOpen(r.opts.BreakerOpen))
	r.rulesOpen.add(isOpen(r.opts.RulesBreakerOpen))
}

// rulesAge returns RulesAge in nanoseconds. Rules that were never confirmed are as
// old as the first decision.
func (r *Recorder) rulesAge(now time.Time) int64 {
	if r.opts.RulesConfirmed == nil {
		return 0
	}
	since := r.opts.RulesConfirmed()
	if since.IsZero() {
		since = time.Unix(0, cmp.Or(r.started.Load(), now.UnixNano()))
	}
	return max(0, int64(now.Sub(since)))
}

func isOpen(breaker func() bool) int64 {
	if breaker != nil && breaker() {
		return 1
	}
	return 0
}

// countDenial counts a denied request: by its rule, or among the others. A denial
// without a limit, such as a ban, has no rule. A Snapshot sums them up, so that
// its sum and its parts are of one moment.
func (r *Recorder) countDenial(now time.Time, d *engine.Decision) {
	if d.Reason != engine.Limited || len(d.Verdicts) == 0 {
		r.add(metric.Denied, 1)
		return
	}
	v := &d.Verdicts[0]
	r.rule(v.Rule.Name).denied.Add(1)
	if v.Snapshot {
		r.add(metric.SnapshotDenials, 1)
	}
	if !r.opts.WithoutTopKeys {
		r.denied.add(now, ruleKey{v.Rule.Name, v.Key}, 1, 0)
	}
}

// countNear counts the units above 80% of each limit that an allowed request has
// taken.
func (r *Recorder) countNear(now time.Time, v *engine.Verdict) {
	if v.Uncounted || v.Degraded {
		return
	}
	for i := range v.Limits {
		most := v.Terms.Limits[i].MaxCost()
		used := most - v.Limits[i].Remaining
		if units := nearUnits(most, used, v.Terms.Costs[i]); units > 0 {
			r.add(metric.NearLimit, units)
			r.rule(v.Rule.Name).near.Add(units)
			if !r.opts.WithoutTopKeys {
				r.near.add(now, ruleKey{v.Rule.Name, v.Key}, units, float64(used)/float64(most))
			}
		}
	}
}

// nearUnits returns how many of the units that a request took lie above 80% of
// the capacity, given what is in use after it. Of a request for 5 that brings 78
// of 100 to 83, they are 3.
func nearUnits(capacity, used, cost int64) int64 {
	threshold := capacity * 8 / 10
	return max(0, used-max(threshold, used-cost))
}

// countShadows counts what shadow rules and candidate capacities would have
// denied of an allowed request: the request once, and once for each of them.
func (r *Recorder) countShadows(d *engine.Decision) {
	denied := false
	for result := range d.ShadowResults() {
		if result.Outcome == engine.WouldDeny {
			denied = true
			r.rule(result.Name()).shadowDenied.Add(1)
		}
	}
	if denied {
		r.add(metric.ShadowDenied, 1)
	}
}

func (r *Recorder) rule(name string) *ruleCounters {
	if c, ok := r.rules.Load(name); ok {
		return c.(*ruleCounters)
	}
	c, _ := r.rules.LoadOrStore(name, &ruleCounters{})
	return c.(*ruleCounters)
}

// corrections are the metrics that count calls which correct a charge.
var corrections = map[string]string{engine.CallRefund: metric.Refunded, engine.CallSettle: metric.Settled}

// StoreCall counts refunds and settlements; with Options.Now also every call that
// reached the store.
func (r *Recorder) StoreCall(ctx context.Context, name string) func(error) {
	ended := r.Observer.StoreCall(ctx, name)
	corrected := corrections[name]
	if corrected == "" && r.opts.Now == nil {
		return ended // most calls: a function of their own would be allocated
	}
	return r.timed(ctx, ended, corrected)
}

// timed returns a function for the end of a call that begins now. It counts the
// call by a metric if it succeeds; "" for none.
func (r *Recorder) timed(ctx context.Context, ended func(error), corrected string) func(error) {
	var sent time.Time
	if r.opts.Now != nil {
		sent = r.opts.Now()
	}
	return func(err error) {
		ended(err)
		if err == nil && corrected != "" {
			r.add(corrected, 1)
		}
		if r.opts.Now != nil && !errors.Is(err, limit.ErrNotAsked) {
			took := r.opts.Now().Sub(sent)
			r.attempted(took)
			if r.opts.Took != nil {
				r.opts.Took(ctx, took)
			}
		}
	}
}

// Rejected counts a request that was refused for its credentials.
func (r *Recorder) Rejected() { r.add(metric.Rejected, 1) }

// Sent counts a request to DynamoDB, by the name of its operation, and the time
// until its answer or failure. With Options.Now the counters are elsewhere, and
// the request is none to their store: only Writes and Reads have it.
func (r *Recorder) Sent(operation string, took time.Duration) {
	if r.opts.Now == nil {
		r.attempted(took)
	}
	switch operation {
	case "UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		r.add(metric.Writes, 1)
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan":
		r.add(metric.Reads, 1)
	}
}

func (r *Recorder) attempted(took time.Duration) {
	r.add(metric.StoreAttempts, 1)
	r.latency.add(took)
}
