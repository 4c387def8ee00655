package limitotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	table "github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/limitotel"
	"github.com/slidegate/slidegate/limittest"
)

// scraper is what Prometheus gets of a program's metrics.
type scraper struct {
	*testing.T
	registry *prometheus.Registry
	metrics  slidegate.SharedOption
}

func newScraper(t *testing.T) *scraper {
	t.Helper()
	s := &scraper{T: t, registry: prometheus.NewRegistry()}
	reader, err := exporter.New(exporter.WithRegisterer(s.registry), exporter.WithoutTargetInfo(), exporter.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	s.metrics, err = limitotel.New(limitotel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scrape returns the metrics by name and labels, such as
// "slidegate_denied_total{rule=api}". A histogram has its count.
func (s *scraper) scrape() map[string]float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			if values[name] = m.GetCounter().GetValue(); family.GetType() == dto.MetricType_HISTOGRAM {
				values[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return values
}

// want compares some metrics; a value of 0 says that there is none.
func (s *scraper) want(want map[string]float64) {
	s.Helper()
	got := s.scrape()
	for name, value := range want {
		if got[name] != value {
			s.Errorf("%s is %v, want %v, of %v", name, got[name], value, got)
		}
	}
	if strings.Contains(fmt.Sprint(got), "user:") {
		s.Error("a metric has keys")
	}
}

// newLimiter returns a limiter of 30 units an hour.
func (s *scraper) newLimiter(options ...slidegate.Option) *slidegate.Limiter {
	s.Helper()
	lim, err := slidegate.New(append(options, slidegate.SlidingWindow(30, time.Hour), slidegate.WithName("api"), s.metrics)...)
	if err != nil {
		s.Fatal(err)
	}
	return lim
}

// TestNames: OpenTelemetry's Prometheus exporter makes the names that serve has.
func TestNames(t *testing.T) {
	s := newScraper(t)
	lim := s.newLimiter()
	r, err := lim.Reserve(t.Context(), "user:7", 30)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = lim.Allow(t.Context(), "user:7")
	if err := r.Settle(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	types := map[table.Kind]dto.MetricType{table.Counter: dto.MetricType_COUNTER, table.Histogram: dto.MetricType_HISTOGRAM}
	for _, m := range table.All {
		i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == m.Prometheus })
		switch {
		case m.Exporters&table.Library == 0:
			if i >= 0 {
				t.Errorf("%s is reported", m.Prometheus)
			}
		case m.Name == table.ShadowDenied: // a limiter has no shadow rules
		case i < 0:
			t.Errorf("%s is missing", m.Prometheus)
		case families[i].GetType() != types[m.Kind] || families[i].GetHelp() != m.Help:
			t.Errorf("%s is %v: %s", m.Prometheus, families[i].GetType(), families[i].GetHelp())
		}
	}
	s.want(map[string]float64{"slidegate_settled_total": 1, "slidegate_refunded_total": 0})
}

// TestLimiter: what a limiter decides counts to the unit, also under load.
func TestLimiter(t *testing.T) {
	s := newScraper(t)
	lim := s.newLimiter()
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
	s.want(map[string]float64{
		"slidegate_decisions_total": 100, "slidegate_denied_total{rule=api}": 70, "slidegate_near_limit_total{rule=api}": 6,
		"slidegate_store_attempts_total": 100, "slidegate_store_latency_seconds": 100, "slidegate_limit_utilization{rule=api}": 100,
		"slidegate_degraded_total": 0,
	})
}

// TestGate: a request of a gate is one decision, whatever the rules, and a denial
// counts by the rule that denied.
func TestGate(t *testing.T) {
	s := newScraper(t)
	g, err := gate.New(gate.Rules{
		Deny: []gate.Match{{Paths: []string{"/banned"}}},
		Rules: []gate.Rule{
			{Name: "wide", Key: "all", Limits: []slidegate.Limit{slidegate.FixedWindow(10, time.Hour)}},
			{Name: "narrow", Key: "all", Limits: []slidegate.Limit{slidegate.FixedWindow(3, time.Hour)}},
			{Name: "next", Key: "all", Shadow: true, Limits: []slidegate.Limit{slidegate.FixedWindow(2, time.Hour)}},
		},
	}, s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/", "/", "/", "/", "/banned"} {
		if _, err := g.Decide(t.Context(), &gate.Request{Method: "GET", Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	s.want(map[string]float64{
		"slidegate_decisions_total": 6, "slidegate_denied_total{rule=narrow}": 2, "slidegate_denied_total{rule=wide}": 0,
		"slidegate_denied_total": 1, "slidegate_shadow_denied_total{rule=next}": 1, "slidegate_snapshot_denials_total": 2,
	})
}

// TestFailures: failures count by action, rule and kind, and the decisions that
// survive them are degraded, and no share of a limit.
func TestFailures(t *testing.T) {
	for err, kind := range map[error]string{
		context.DeadlineExceeded: "timeout", slidegate.ErrUndecided: "undecided", errors.New("no route to 10.0.0.7"): "_OTHER",
	} {
		s := newScraper(t)
		lim := s.newLimiter(slidegate.WithStore(limittest.NewStore(limittest.Fail(err))), slidegate.FailOpen(),
			slidegate.WithLogger(slog.New(slog.DiscardHandler)))
		for range 2 {
			if r, err := lim.Allow(t.Context(), "user:7"); err != nil || !r.Degraded {
				t.Fatalf("%+v, error %v", r, err)
			}
		}
		s.want(map[string]float64{
			"slidegate_failures_total{action=on_error: allow,error_type=" + kind + ",rule=api}": 2,
			"slidegate_decisions_total": 2, "slidegate_degraded_total": 2, "slidegate_store_attempts_total": 2, "slidegate_limit_utilization{rule=api}": 0,
		})
	}
}

// The program's own provider, which OpenTelemetry takes once.
var (
	global    = sdk.NewManualReader()
	setGlobal = sync.OnceFunc(func() { otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(global))) })
)

// TestGlobalProvider: the default provider may be set after the option is made.
func TestGlobalProvider(t *testing.T) {
	metrics, err := limitotel.New()
	if err != nil {
		t.Fatal(err)
	}
	lim, err := slidegate.New(slidegate.SlidingWindow(30, time.Hour), metrics)
	if err != nil {
		t.Fatal(err)
	}
	setGlobal()
	if _, err := lim.Allow(t.Context(), "user:7"); err != nil {
		t.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	if err := global.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(all.ScopeMetrics); !strings.Contains(got, "slidegate.decisions") || !strings.Contains(got, "slidegate.store_latency") {
		t.Errorf("the global provider has %s", got)
	}
}

// refusing is a meter provider that makes no counters.
type refusing struct{ noop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ noop.Meter }

var errRefused = errors.New("too many instruments")

func (refusingMeter) Int64ObservableCounter(string, ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return nil, errRefused
}

func TestProviderRefuses(t *testing.T) {
	if _, err := limitotel.New(limitotel.WithMeterProvider(refusing{})); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
}

// TestNoSDK: the package needs the API alone; programs choose an SDK.
func TestNoSDK(t *testing.T) {
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(deps), "go.opentelemetry.io/otel/metric") {
		t.Errorf("the package is built of:\n%s", deps)
	}
	for _, unwanted := range []string{"go.opentelemetry.io/otel/sdk", "github.com/prometheus/"} {
		if strings.Contains(string(deps), unwanted) {
			t.Errorf("the package is built of %s", unwanted)
		}
	}
}
