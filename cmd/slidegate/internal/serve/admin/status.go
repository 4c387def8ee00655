package admin

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/rules"
)

// Status is the answer of /v1/status. Metrics have their names of package metric,
// and their units. Counters count since StartedAt, so a rate is the difference of
// two answers.
type Status struct {
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	At        time.Time `json:"at"`
	readiness
	Store     string             `json:"store"`
	RulesFrom string             `json:"rules_from"`
	Counters  map[string]int64   `json:"counters"`
	Gauges    map[string]float64 `json:"gauges"`
	Latency   Latency            `json:"store_latency"`
	Rules     []Rule             `json:"rules"`
	// TopDenied and TopNear are those of telemetry.Snapshot.
	TopDenied []telemetry.TopKey `json:"top_denied"`
	TopNear   []telemetry.TopKey `json:"top_near"`
}

// Rule is a rule in force, or another name that has counters: "NAME candidate",
// or a rule that was in force before, as long as the server runs.
type Rule struct {
	Name     string           `json:"name"`
	Mode     string           `json:"mode,omitempty"`     // of a rule in force
	Counters map[string]int64 `json:"counters,omitempty"` // those that are not 0
}

// Latency is the distribution of StoreLatency.
type Latency struct {
	Count   int64    `json:"count"`
	Sum     float64  `json:"sum_s"`
	Buckets []Bucket `json:"buckets"`
}

// Bucket counts the times that are longer than the bucket before it, and at most
// UpTo, in seconds. The longest bucket has no end, and UpTo is 0.
type Bucket struct {
	UpTo  float64 `json:"up_to_s,omitempty"`
	Count int64   `json:"count"`
}

func (s *Server) status(of *telemetry.Snapshot, inForce []*rules.Rule) *Status {
	status := &Status{
		Version: s.Version, StartedAt: s.started.UTC(), At: s.Now().UTC(), readiness: s.readiness(of), Store: s.Store, RulesFrom: s.RulesFrom,
		Counters: map[string]int64{}, Gauges: of.Gauges, Latency: latencyOf(&of.Latency), Rules: listRules(inForce, of.Rules),
		TopDenied: of.TopDenied, TopNear: of.TopNear,
	}
	for _, m := range metric.All {
		if m.Kind == metric.Counter && m.Exporters&metric.Serve != 0 {
			status.Counters[m.Name] = of.Counters[m.Name]
		}
	}
	return status
}

// listRules lists the rules in force in their order, and then the other names
// that have counters.
func listRules(inForce []*rules.Rule, counters map[string]map[string]int64) []Rule {
	list, others := []Rule{}, maps.Clone(counters)
	for _, r := range inForce {
		if r.Mode != rules.Off {
			delete(others, r.Name)
			list = append(list, Rule{r.Name, r.Mode.String(), counters[r.Name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		list = append(list, Rule{Name: name, Counters: others[name]})
	}
	return list
}

func latencyOf(h *telemetry.Histogram) Latency {
	l := Latency{Count: h.Count(), Sum: h.Sum.Seconds(), Buckets: []Bucket{}}
	bounds := telemetry.Bounds()
	for i, n := range h.Counts {
		if n > 0 {
			b := Bucket{Count: n}
			if i < len(bounds) {
				b.UpTo = bounds[i].Seconds()
			}
			l.Buckets = append(l.Buckets, b)
		}
	}
	return l
}

// oldRules is the age of rules from which on they count as old. Healthy servers
// look for newer rules every five seconds.
const oldRules = time.Minute

// degraded says why decisions are not exact, or not by the newest rules; nil if
// they are.
func degraded(s *telemetry.Snapshot, notReloaded error) (why []string) {
	if notReloaded != nil {
		why = append(why, fmt.Sprintf("the rules file has changed, and the rules in force stay: %v", notReloaded))
	}
	if s.Gauges[metric.BreakerOpen] > 0 {
		why = append(why, "the store of the counters does not answer: on_error decides")
	}
	if s.Gauges[metric.RulesBreakerOpen] > 0 {
		why = append(why, "the rules table does not answer: the rules, overrides and API keys of its last answers stay in force")
	}
	if age := s.Gauges[metric.RulesAge]; notReloaded == nil && age > oldRules.Seconds() {
		why = append(why, fmt.Sprintf("the rules table was last read %.0f seconds ago: its rules of then stay in force", age))
	}
	return why
}
