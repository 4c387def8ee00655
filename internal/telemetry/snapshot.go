package telemetry

import (
	"time"

	"github.com/slidegate/slidegate/internal/telemetry/metric"
)

// listed is how many top keys a Snapshot has of each kind.
const listed = 10

// Snapshot is what a Recorder has counted so far. Counters only grow.
type Snapshot struct {
	// Counters and Gauges have a value for each metric of their kind that is
	// known, by its name, such as metric.Decisions. Times are in the metric's
	// unit: RulesAge in seconds.
	Counters map[string]int64
	Gauges   map[string]float64
	// Rules has the counters by rule: for each rule that denied, would have
	// denied or came near its limit, the metrics that are not 0.
	Rules map[string]map[string]int64
	// Latency is StoreLatency.
	Latency Histogram
	// TopDenied are the keys denied most in the latest one to two minutes, those
	// denied most first. TopNear are the keys nearest their limits, the fullest
	// first.
	TopDenied, TopNear []TopKey
}

// Snapshot returns what was counted so far. now is the time of decisions, by
// which old top keys are left out.
func (r *Recorder) Snapshot(now time.Time) *Snapshot {
	s := &Snapshot{
		Counters: map[string]int64{}, Gauges: map[string]float64{}, Rules: map[string]map[string]int64{},
		Latency: r.latency.snapshot(),
	}
	for name, c := range r.counters {
		s.Counters[name] = c.Load()
	}
	r.rules.Range(func(name, value any) bool {
		c, counts := value.(*ruleCounters), map[string]int64{}
		for name, n := range map[string]int64{
			metric.Denied: c.denied.Load(), metric.ShadowDenied: c.shadowDenied.Load(), metric.NearLimit: c.near.Load(),
		} {
			if n > 0 {
				counts[name] = n
			}
		}
		s.Rules[name.(string)] = counts
		return true
	})
	s.Gauges[metric.RulesVersion] = float64(r.version.Load())
	if r.opts.RulesConfirmed != nil {
		s.Gauges[metric.RulesAge] = time.Duration(r.age.latest.Load()).Seconds()
	}
	if r.opts.BreakerOpen != nil {
		s.Gauges[metric.BreakerOpen] = float64(r.open.latest.Load())
	}
	if r.opts.LocalKeys != nil {
		s.Gauges[metric.LocalKeys] = float64(r.opts.LocalKeys())
	}
	s.TopDenied, s.TopNear = r.denied.top(now, byCount), r.near.top(now, byShare)
	return s
}
