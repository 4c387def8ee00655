package telemetry

import (
	"time"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
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
	// Allowed counts by rule the allowed requests that it covers, also in shadow.
	Allowed map[string]int64
	// DeniedByNone counts the denials that no rule made, such as bans.
	DeniedByNone int64
	// Latency is StoreLatency.
	Latency Histogram
	// TopDenied are the keys denied most in the latest one to two minutes, those
	// denied most first. TopNear are the keys nearest their limits, the fullest
	// first, of the hundred that took most units above 80%.
	TopDenied, TopNear []TopKey
}

// Snapshot returns what was counted so far, and the states of now, which is the
// time of decisions. RulesVersion is that of the latest decision.
func (r *Recorder) Snapshot(now time.Time) *Snapshot {
	s := r.Counted()
	r.readGauges(s, r.rulesAge(now), isOpen(r.opts.BreakerOpen), isOpen(r.opts.RulesBreakerOpen))
	s.TopDenied, s.TopNear = r.denied.top(now, byCount), r.near.top(now, byShare)
	return s
}

// Take returns what was counted since the last Take, with the most that RulesAge
// and the breakers were at decisions since then, and the top keys since then. It
// is for one exporter that reports each minute by itself.
func (r *Recorder) Take() *Snapshot {
	r.taking.Lock()
	defer r.taking.Unlock()
	all := r.Counted()
	s := all.Since(r.taken)
	r.taken = all
	r.readGauges(s, r.age.Swap(0), r.open.Swap(0), r.rulesOpen.Swap(0))
	s.TopDenied, s.TopNear = r.denied.take(byCount), r.near.take(byShare)
	return s
}

// Counted returns a Snapshot of the counters and times alone.
func (r *Recorder) Counted() *Snapshot {
	s := &Snapshot{Counters: map[string]int64{}, Rules: map[string]map[string]int64{}, Allowed: map[string]int64{}, Latency: r.latency.snapshot()}
	for name, c := range r.counters {
		s.Counters[name] = c.Load()
	}
	s.DeniedByNone = s.Counters[metric.Denied]
	r.rules.Range(func(name, value any) bool {
		c, counts := value.(*ruleCounters), map[string]int64{}
		for by, n := range map[string]int64{
			metric.Denied: c.denied.Load(), metric.ShadowDenied: c.shadowDenied.Load(), metric.NearLimit: c.near.Load(),
		} {
			if n > 0 {
				counts[by] = n
			}
		}
		if len(counts) > 0 {
			s.Rules[name.(string)] = counts
		}
		s.Allowed[name.(string)] = c.allowed.Load()
		s.Counters[metric.Denied] += counts[metric.Denied]
		return true
	})
	// A decision counts before its denial, so that a snapshot which reads it last
	// has no more denials than decisions.
	s.Counters[metric.Decisions] = r.decisions.Load()
	return s
}

func (r *Recorder) readGauges(s *Snapshot, age, open, rulesOpen int64) {
	s.Gauges = map[string]float64{metric.RulesVersion: float64(r.version.Load())}
	if r.opts.RulesConfirmed != nil {
		s.Gauges[metric.RulesAge] = time.Duration(age).Seconds()
	}
	if r.opts.BreakerOpen != nil {
		s.Gauges[metric.BreakerOpen], s.Gauges[metric.RulesBreakerOpen] = float64(open), float64(rulesOpen)
	}
	if r.opts.LocalKeys != nil {
		s.Gauges[metric.LocalKeys] = float64(r.opts.LocalKeys())
	}
}

// Since returns the counters and times of s without what was counted before; nil
// for nothing.
func (s *Snapshot) Since(before *Snapshot) *Snapshot {
	if before == nil {
		return s
	}
	since := &Snapshot{Counters: map[string]int64{}, Rules: map[string]map[string]int64{}, Allowed: map[string]int64{}, Latency: s.Latency}
	since.DeniedByNone = s.DeniedByNone - before.DeniedByNone
	for name, n := range s.Counters {
		since.Counters[name] = n - before.Counters[name]
	}
	for rule, n := range s.Allowed {
		since.Allowed[rule] = n - before.Allowed[rule]
	}
	for rule, counts := range s.Rules {
		for name, n := range counts {
			if n -= before.Rules[rule][name]; n > 0 {
				if since.Rules[rule] == nil {
					since.Rules[rule] = map[string]int64{}
				}
				since.Rules[rule][name] = n
			}
		}
	}
	for i, n := range before.Latency.Counts {
		since.Latency.Counts[i] -= n
	}
	since.Latency.Sum -= before.Latency.Sum
	return since
}
