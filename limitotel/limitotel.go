// Package limitotel records what limiters and gates do as OpenTelemetry
// metrics.
//
//	metrics, err := limitotel.New()
//	…
//	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute),
//		slidegate.WithName("api"), metrics)
//
// One option serves all limiters and gates of a program. Its metrics have the names
// of those of `slidegate serve`: OpenTelemetry's Prometheus exporter makes
// slidegate_denied_total of slidegate.denied.
//
//   - slidegate.decisions counts requests that were decided;
//   - slidegate.denied counts requests that were denied, by rule: the name of the
//     limiter or rule that denied them, absent if no rule did;
//   - slidegate.shadow_denied counts requests that a shadow rule or a candidate
//     capacity would have denied, by rule;
//   - slidegate.near_limit counts units that were taken above 80% of a limit, by
//     rule;
//   - slidegate.degraded counts decisions of an error policy;
//   - slidegate.refunded and slidegate.settled count charges that were returned, or
//     corrected to the true cost;
//   - slidegate.snapshot_denials counts denials without a call of the store;
//   - slidegate.store_attempts counts calls of the store, and
//     slidegate.store_latency is the histogram of their times in seconds;
//   - slidegate.failures counts failures of stores, most of which a decision
//     survived, by rule, action and error.type: "timeout", "undecided" for a store
//     that works but cannot decide, or "_OTHER";
//   - slidegate.limit.utilization is a histogram of the share of its tightest limit that
//     a key has in use after a decision, from 0 to 1, by rule. Decisions of an error
//     policy have none.
//
// No metric has the key, such as a user or an address: each combination of
// attributes is a series of its own, and keys would make millions.
package limitotel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/meter"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/slidegate/slidegate/limitotel"

// Keys of attributes.
const (
	ruleKey      = attribute.Key("rule")   // as in the metrics of `slidegate serve`
	actionKey    = attribute.Key("action") // that of slidegate.Event
	errorTypeKey = attribute.Key("error.type")
)

// Option sets up the metrics.
type Option func(*config)

type config struct{ provider metric.MeterProvider }

// WithMeterProvider has the metrics recorded by a provider. The default is
// otel.GetMeterProvider, which may be set later than [New] is called.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.provider = p } }

// New returns an option for [slidegate.New], for gate.New and for
// limithttp.SettleMiddleware. Recording does no I/O. The error is that of a meter
// provider that refuses an instrument.
func New(options ...Option) (slidegate.SharedOption, error) {
	c := config{provider: otel.GetMeterProvider()}
	for _, o := range options {
		o(&c)
	}
	instruments, err := newInstruments(c.provider.Meter(Scope))
	if err != nil {
		return nil, fmt.Errorf("limitotel: %w", err)
	}
	return instruments.counted.Option(), nil
}

// instruments record what the meter reports. OpenTelemetry reads the meter's
// counters when it collects.
type instruments struct {
	counted              *meter.Meter
	counters             map[string]metric.Int64ObservableCounter
	failures             metric.Int64Counter
	utilization, latency metric.Float64Histogram
	sets                 sync.Map // from a rule to its metric.MeasurementOption
}

func newInstruments(m metric.Meter) (*instruments, error) {
	i := &instruments{counters: map[string]metric.Int64ObservableCounter{}}
	i.counted = meter.New(time.Now, meter.Sink{Latency: i.called, Utilization: i.used, Failure: i.failed})
	var errs [4]error
	i.failures, errs[0] = m.Int64Counter("slidegate.failures",
		metric.WithDescription("Failures of stores, most of which a decision survived."))
	i.utilization, errs[1] = m.Float64Histogram("slidegate.limit.utilization",
		metric.WithDescription("Share of its tightest limit that a key has in use after a decision."),
		metric.WithExplicitBucketBoundaries(0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1))
	i.latency, errs[2] = m.Float64Histogram(meter.Latency.Name, metric.WithDescription(meter.Latency.Help),
		metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(meter.LatencyBounds()...))
	var observed []metric.Observable
	for _, d := range meter.Counters {
		counter, err := m.Int64ObservableCounter(d.Name, metric.WithDescription(d.Help))
		errs[3] = errors.Join(errs[3], err)
		i.counters[d.Name], observed = counter, append(observed, counter)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	_, err := m.RegisterCallback(i.observe, observed...)
	return i, err
}

// observe reports the counters.
func (i *instruments) observe(_ context.Context, o metric.Observer) error {
	for _, c := range i.counted.Counts() {
		o.ObserveInt64(i.counters[c.Name], c.N, i.ofRule(c.Rule))
	}
	return nil
}

// ofRule returns the attribute of a rule; none for "". Sets take time to make, and
// rules are few, so each is made once.
func (i *instruments) ofRule(name string) metric.MeasurementOption {
	if set, ok := i.sets.Load(name); ok {
		return set.(metric.MeasurementOption)
	}
	var attributes []attribute.KeyValue
	if name != "" {
		attributes = append(attributes, ruleKey.String(name))
	}
	set, _ := i.sets.LoadOrStore(name, metric.WithAttributeSet(attribute.NewSet(attributes...)))
	return set.(metric.MeasurementOption)
}

func (i *instruments) called(ctx context.Context, took time.Duration) {
	i.latency.Record(ctx, took.Seconds())
}

func (i *instruments) used(ctx context.Context, rule string, share float64) {
	i.utilization.Record(ctx, share, i.ofRule(rule))
}

func (i *instruments) failed(ctx context.Context, rule, action string, err error) {
	i.failures.Add(ctx, 1, i.ofRule(rule), metric.WithAttributes(actionKey.String(action), errorTypeKey.String(typeOf(err))))
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
