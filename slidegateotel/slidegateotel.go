// Package slidegateotel records the decisions and failures of limiters as
// OpenTelemetry metrics.
//
//	observe, err := slidegateotel.NewObserver()
//	…
//	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute),
//		slidegate.WithName("api"), slidegate.WithObserver(observe))
//
// One observer serves all limiters of a program. The metrics are:
//
//   - slidegate.decisions, a counter in {decision}, by slidegate.rule,
//     slidegate.outcome, slidegate.reason and slidegate.degraded;
//   - slidegate.failures, a counter in {failure}, by slidegate.rule,
//     slidegate.action and error.type: one for each [slidegate.Event] with an
//     error, most of which a decision survived;
//   - slidegate.limit.utilization, a histogram of the share of its limit that a
//     key has in use after a decision, from 0 to 1, by slidegate.rule.
//
// slidegate.outcome is "allowed" or "denied", and "shadow_allowed" or
// "shadow_denied" for a rule in shadow mode, which changed nothing.
// slidegate.degraded says that the store did not answer, and an error policy
// decided; such decisions have no utilization. error.type is "timeout",
// "undecided" for a store that works but cannot decide, or "_OTHER".
//
// No metric has the key, such as a user or an address: each combination of
// attributes is a series of its own, and keys would make millions.
package slidegateotel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/slidegate/slidegate"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/slidegate/slidegate/slidegateotel"

// Keys of attributes.
const (
	ruleKey      = attribute.Key("slidegate.rule")     // the name of a limiter or rule; absent if no rule decided
	outcomeKey   = attribute.Key("slidegate.outcome")  // such as "denied"
	reasonKey    = attribute.Key("slidegate.reason")   // that of slidegate.Event
	degradedKey  = attribute.Key("slidegate.degraded") // a bool
	actionKey    = attribute.Key("slidegate.action")   // what failed, such as "on_error: local"
	errorTypeKey = attribute.Key("error.type")
)

// Option sets up an observer.
type Option func(*config)

type config struct{ provider metric.MeterProvider }

// WithMeterProvider has the metrics recorded by a provider. The default is
// otel.GetMeterProvider, which may be set later than the observer is made.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.provider = p } }

// NewObserver returns a function for [slidegate.WithObserver]. It is safe for
// concurrent use, and does no I/O. The error is that of a meter provider that
// refuses an instrument.
func NewObserver(options ...Option) (func(context.Context, slidegate.Event), error) {
	c := config{provider: otel.GetMeterProvider()}
	for _, o := range options {
		o(&c)
	}
	meter := c.provider.Meter(Scope)
	var o observer
	var errs [3]error
	o.decisions, errs[0] = meter.Int64Counter("slidegate.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Decisions about requests."))
	o.failures, errs[1] = meter.Int64Counter("slidegate.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Failures of stores, most of which a decision survived."))
	o.utilization, errs[2] = meter.Float64Histogram("slidegate.limit.utilization", metric.WithUnit("1"),
		metric.WithDescription("Share of its limit that a key has in use after a decision."),
		metric.WithExplicitBucketBoundaries(0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("slidegateotel: %w", err)
	}
	return o.observe, nil
}

type observer struct {
	decisions, failures metric.Int64Counter
	utilization         metric.Float64Histogram
	sets                sync.Map // from series to metric.MeasurementOption
}

// series are the attributes of a measurement. There are few, because rules and
// what may happen to them are few.
type series struct {
	rule, outcome, reason, action, errorType string
	degraded                                 bool
}

// observe records one event.
func (o *observer) observe(ctx context.Context, e slidegate.Event) {
	if e.Err != nil {
		o.failures.Add(ctx, 1, o.attributes(series{rule: e.Rule, action: string(e.Action), errorType: typeOf(e.Err)}))
		return
	}
	r := &e.Result
	o.decisions.Add(ctx, 1, o.attributes(series{rule: e.Rule, outcome: outcome(&e), reason: string(e.Reason), degraded: r.Degraded}))
	if r.Limit > 0 && !r.Degraded {
		used := 1 - float64(r.Remaining)/float64(r.Limit)
		o.utilization.Record(ctx, min(1, max(0, used)), o.attributes(series{rule: e.Rule}))
	}
}

// outcome names a decision.
func outcome(e *slidegate.Event) string {
	name := "denied"
	if e.Result.Allowed {
		name = "allowed"
	}
	if e.Shadow {
		return "shadow_" + name
	}
	return name
}

// typeOf returns the error.type of a failure: one of a few.
func typeOf(err error) string {
	switch {
	case errors.Is(err, slidegate.ErrUndecided):
		return "undecided"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "_OTHER" // the fallback of the semantic conventions
}

// attributes returns a series as an option. Sets take time to make, so each is
// made once.
func (o *observer) attributes(s series) metric.MeasurementOption {
	if set, ok := o.sets.Load(s); ok {
		return set.(metric.MeasurementOption)
	}
	var list []attribute.KeyValue
	for key, value := range map[attribute.Key]string{
		ruleKey: s.rule, outcomeKey: s.outcome, reasonKey: s.reason, actionKey: s.action, errorTypeKey: s.errorType,
	} {
		if value != "" {
			list = append(list, key.String(value))
		}
	}
	if s.outcome != "" {
		list = append(list, degradedKey.Bool(s.degraded))
	}
	set := metric.WithAttributeSet(attribute.NewSet(list...))
	o.sets.Store(s, set)
	return set
}
