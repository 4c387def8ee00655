package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// newMetrics returns the handler of /metrics, which also has the usual metrics of
// a Go process and its build.
func newMetrics(o Options) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(o), collectors.NewBuildInfoCollector(), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// collector makes Prometheus's metrics of a snapshot at each scrape.
type collector struct {
	Options
	metrics []described
}

type described struct {
	metric.Metric
	desc *prometheus.Desc
}

func newCollector(o Options) *collector {
	c := &collector{Options: o}
	for _, m := range metric.All {
		if m.Exporters&metric.Serve == 0 {
			continue
		}
		var labels []string
		if m.ByRule {
			labels = []string{"rule"}
		}
		c.metrics = append(c.metrics, described{m, prometheus.NewDesc(m.Prometheus, m.Help, labels, nil)})
	}
	return c
}

// Describe lists the metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
}

// Collect reports their values.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s, inForce := c.read()
	listed := listRules(inForce, s.Rules)
	for _, m := range c.metrics {
		switch {
		case m.Kind == metric.Histogram:
			out <- histogram(m.desc, &s.Latency)
		case m.Kind == metric.Gauge:
			if value, known := s.Gauges[m.Name]; known {
				out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, value)
			}
		case m.ByRule:
			for _, r := range listed { // 0 too, so that a rate sees the first denial
				out <- counter(m.desc, r.Counters[m.Name], r.Name)
			}
			if m.Name == metric.Denied {
				out <- counter(m.desc, s.DeniedByNone, "")
			}
		default:
			out <- counter(m.desc, s.Counters[m.Name])
		}
	}
}

func counter(desc *prometheus.Desc, n int64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
}

// histogram returns the distribution with the counts that Prometheus wants: of all
// times up to each bound.
func histogram(desc *prometheus.Desc, h *telemetry.Histogram) prometheus.Metric {
	buckets, n := map[float64]uint64{}, uint64(0)
	for i, bound := range telemetry.Bounds() {
		n += uint64(h.Counts[i])
		buckets[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(desc, uint64(h.Count()), h.Sum.Seconds(), buckets)
}
