package slidegateotel_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegateotel"
)

// observe passes events to an observer, and returns the metrics by name.
func observe(t *testing.T, events ...slidegate.Event) map[string]metricdata.Metrics {
	t.Helper()
	reader := sdk.NewManualReader()
	observer, err := slidegateotel.NewObserver(slidegateotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		observer(t.Context(), e)
	}
	return collect(t, reader)
}

func collect(t *testing.T, reader *sdk.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	metrics := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.Name != slidegateotel.Scope {
			t.Errorf("the scope is %q", scope.Scope.Name)
		}
		for _, m := range scope.Metrics {
			metrics[m.Name] = m
		}
	}
	return metrics
}

// point is a number with its attributes: strings in pairs, and the bool for
// slidegate.degraded.
func point(n int64, degraded string, pairs ...string) metricdata.DataPoint[int64] {
	var list []attribute.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, attribute.String(pairs[i], pairs[i+1]))
	}
	if degraded != "" {
		list = append(list, attribute.Bool("slidegate.degraded", degraded == "true"))
	}
	return metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(list...)}
}

func counter(name, unit, description string, points ...metricdata.DataPoint[int64]) metricdata.Metrics {
	return metricdata.Metrics{Name: name, Unit: unit, Description: description, Data: metricdata.Sum[int64]{
		Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: points,
	}}
}

// TestDecisions: decisions count by rule, outcome, reason and degradation, and
// never by key.
func TestDecisions(t *testing.T) {
	allowed, denied := slidegate.Result{Allowed: true, Limit: 10}, slidegate.Result{Limit: 10}
	got := observe(t,
		slidegate.Event{Rule: "api", Key: "user:1", Reason: "limited", Result: allowed},
		slidegate.Event{Rule: "api", Key: "user:2", Reason: "limited", Result: allowed},
		slidegate.Event{Rule: "api", Key: "user:3", Reason: "limited", Result: denied},
		slidegate.Event{Rule: "new", Key: "user:3", Reason: "limited", Result: denied, Shadow: true},
		slidegate.Event{Rule: "new", Key: "user:3", Reason: "limited", Result: allowed, Shadow: true},
		slidegate.Event{Rule: "api", Key: "user:4", Reason: "limited", Result: slidegate.Result{Allowed: true, Degraded: true}},
		slidegate.Event{Reason: "banned", Result: slidegate.Result{}},
	)
	metricdatatest.AssertEqual(t, counter("slidegate.decisions", "{decision}", "Decisions about requests.",
		point(2, "false", "slidegate.rule", "api", "slidegate.outcome", "allowed", "slidegate.reason", "limited"),
		point(1, "false", "slidegate.rule", "api", "slidegate.outcome", "denied", "slidegate.reason", "limited"),
		point(1, "false", "slidegate.rule", "new", "slidegate.outcome", "shadow_denied", "slidegate.reason", "limited"),
		point(1, "false", "slidegate.rule", "new", "slidegate.outcome", "shadow_allowed", "slidegate.reason", "limited"),
		point(1, "true", "slidegate.rule", "api", "slidegate.outcome", "allowed", "slidegate.reason", "limited"),
		point(1, "false", "slidegate.outcome", "denied", "slidegate.reason", "banned"),
	), got["slidegate.decisions"], metricdatatest.IgnoreTimestamp())
	if strings.Contains(fmt.Sprint(got), "user:") {
		t.Error("a metric has keys")
	}
}

// TestFailures: failures count by action, rule and kind. They are no decisions.
func TestFailures(t *testing.T) {
	fail := func(action slidegate.Action, err error) slidegate.Event {
		return slidegate.Event{Rule: "api", Key: "user:1", Action: action, Err: fmt.Errorf("charge: %w", err)}
	}
	got := observe(t,
		fail("on_error: local", context.DeadlineExceeded),
		fail("on_error: local", context.DeadlineExceeded),
		fail("on_error: local", slidegate.ErrUndecided),
		fail("settle", errors.New("no route to 10.0.0.7")),
	)
	metricdatatest.AssertEqual(t, counter("slidegate.failures", "{failure}", "Failures of stores, most of which a decision survived.",
		point(2, "", "slidegate.rule", "api", "slidegate.action", "on_error: local", "error.type", "timeout"),
		point(1, "", "slidegate.rule", "api", "slidegate.action", "on_error: local", "error.type", "undecided"),
		point(1, "", "slidegate.rule", "api", "slidegate.action", "settle", "error.type", "_OTHER"),
	), got["slidegate.failures"], metricdatatest.IgnoreTimestamp())
	if len(got) != 1 {
		t.Errorf("failures gave other metrics too: %v", got)
	}
}

// TestUtilization: the histogram has the share in use, and leaves out decisions
// that counted nothing.
func TestUtilization(t *testing.T) {
	got := observe(t,
		slidegate.Event{Rule: "api", Result: slidegate.Result{Allowed: true, Limit: 100, Remaining: 100}},
		slidegate.Event{Rule: "api", Result: slidegate.Result{Allowed: true, Limit: 100, Remaining: 20}},
		slidegate.Event{Rule: "api", Result: slidegate.Result{Limit: 100, Remaining: 0}},
		slidegate.Event{Rule: "api", Result: slidegate.Result{Allowed: true, Limit: 10, Remaining: 15}}, // a bucket holds its burst
		slidegate.Event{Rule: "api", Result: slidegate.Result{Allowed: true, Limit: 100, Degraded: true}},
		slidegate.Event{Rule: "", Result: slidegate.Result{Allowed: true}},
	)["slidegate.limit.utilization"]
	metricdatatest.AssertEqual(t, metricdata.Metrics{
		Name: "slidegate.limit.utilization", Unit: "1", Description: "Share of its limit that a key has in use after a decision.",
		Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{{
			Attributes: attribute.NewSet(attribute.String("slidegate.rule", "api")),
			Count:      4, Sum: 1.8, Min: metricdata.NewExtrema(0.0), Max: metricdata.NewExtrema(1.0),
			Bounds:       []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1},
			BucketCounts: []uint64{2, 0, 0, 0, 1, 0, 0, 1, 0},
		}}},
	}, got, metricdatatest.IgnoreTimestamp())
}

// newLimiter returns a limiter of 30 units an hour that reports to an observer.
func newLimiter(t *testing.T, options ...slidegateotel.Option) *slidegate.Limiter {
	t.Helper()
	observer, err := slidegateotel.NewObserver(options...)
	if err != nil {
		t.Fatal(err)
	}
	lim, err := slidegate.New(slidegate.SlidingWindow(30, time.Hour), slidegate.WithName("api"), slidegate.WithObserver(observer))
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// TestLimiter: a limiter and an observer work together, also under load.
func TestLimiter(t *testing.T) {
	reader := sdk.NewManualReader()
	lim := newLimiter(t, slidegateotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if _, err := lim.Allow(t.Context(), "user:7"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	metricdatatest.AssertEqual(t, counter("slidegate.decisions", "{decision}", "Decisions about requests.",
		point(30, "false", "slidegate.rule", "api", "slidegate.outcome", "allowed", "slidegate.reason", "limited"),
		point(70, "false", "slidegate.rule", "api", "slidegate.outcome", "denied", "slidegate.reason", "limited"),
	), collect(t, reader)["slidegate.decisions"], metricdatatest.IgnoreTimestamp())
}

// The program's own provider, which OpenTelemetry takes once.
var (
	global    = sdk.NewManualReader()
	setGlobal = sync.OnceFunc(func() { otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(global))) })
)

// TestGlobalProvider: the default provider may be set after the observer is made.
func TestGlobalProvider(t *testing.T) {
	lim := newLimiter(t)
	setGlobal()
	if _, err := lim.Allow(t.Context(), "user:7"); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, global); got["slidegate.decisions"].Data == nil {
		t.Errorf("the global provider has no decisions: %v", got)
	}
}

// refusing is a meter provider that makes no counters.
type refusing struct{ noop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ noop.Meter }

var errRefused = errors.New("too many instruments")

func (refusingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errRefused
}

func TestProviderRefuses(t *testing.T) {
	if _, err := slidegateotel.NewObserver(slidegateotel.WithMeterProvider(refusing{})); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
}

// TestNoSDK: the package needs the API alone; programs choose an SDK.
func TestNoSDK(t *testing.T) {
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(deps), "go.opentelemetry.io/otel/metric") || strings.Contains(string(deps), "go.opentelemetry.io/otel/sdk") {
		t.Errorf("the package is built of:\n%s", deps)
	}
}
