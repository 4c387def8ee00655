package telemetry

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

const (
	// maxRules bounds the rules that have a line of their own in a minute.
	maxRules = 20
	// maxValues is the most numbers that the specification allows for a metric.
	// It documents no form with counts.
	maxValues = 100
)

// LambdaLog writes the metrics of a Lambda to its log, as lines from which
// CloudWatch extracts them. It follows AWS's "Specification: Embedded metric
// format". It is safe for concurrent use. A nil LambdaLog writes nothing.
//
// A Lambda has no moment of its own: it is frozen between requests. So the first
// request of a minute writes the lines of the last minute that had requests, and
// the shutdown of the environment writes those of the minute under way. Metrics
// are stamped with their minute, however much later the line is written.
//
// Lambda reads the level and the time of a JSON line, by its "Log-level
// filtering". These lines have INFO, so a function whose ApplicationLogLevel is
// WARN or higher has no metrics.
type LambdaLog struct {
	recorder *Recorder
	limiter  string // the value of the dimension Limiter

	minute atomic.Int64 // of the latest request, since 1970; 0 before the first
	mu     sync.Mutex
	out    io.Writer
}

// NewLambdaLog returns one that writes to out, one call for each minute. limiter
// tells the limiters of an account apart.
func NewLambdaLog(out io.Writer, limiter string, r *Recorder) *LambdaLog {
	return &LambdaLog{recorder: r, limiter: limiter, out: out}
}

// Begin is called as a request begins. The first one of a minute writes the lines
// of the minute before.
func (e *LambdaLog) Begin(now time.Time) {
	if e == nil {
		return
	}
	minute := now.Unix() / 60
	if e.minute.Load() == minute {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if last := e.minute.Swap(minute); last != minute && last != 0 {
		e.write(last, now)
	}
}

// Flush writes the lines of the minute under way. An environment that had no
// request has a line as well, if it has read its rules.
func (e *LambdaLog) Flush(now time.Time) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(cmp.Or(e.minute.Swap(0), now.Unix()/60), now)
}

// write writes all lines of a minute now. The caller holds the mutex.
func (e *LambdaLog) write(minute int64, now time.Time) {
	s := e.recorder.Take()
	if s.Counters[metric.Decisions]+s.Counters[metric.StoreAttempts] == 0 {
		return
	}
	at := time.Unix(minute*60, 0).UTC()
	line := func(msg string) map[string]any {
		return map[string]any{"time": now.UTC(), "level": "INFO", "msg": msg, "minute": at, metric.Limiter: e.limiter}
	}
	rules, leftOut := mostActive(s.Rules)
	main := line("metrics")
	main[metric.RulesBreakerOpen] = s.Gauges[metric.RulesBreakerOpen]
	if leftOut > 0 {
		main["RulesLeftOut"] = leftOut
	}
	lines := []map[string]any{withMetrics(main, at, values(s), metric.Limiter)}
	for _, rule := range rules {
		byRule := line("metrics of a rule")
		byRule[metric.Rule] = rule
		counts := map[string]any{}
		for name, n := range s.Rules[rule] {
			counts[name] = n
		}
		lines = append(lines, withMetrics(byRule, at, counts, metric.Limiter, metric.Rule))
	}
	if len(s.TopDenied)+len(s.TopNear) > 0 {
		top := line("top keys")
		top["top_denied"], top["top_near"] = s.TopDenied, s.TopNear
		lines = append(lines, top)
	}
	var text []byte
	for _, line := range lines {
		encoded, err := json.Marshal(line)
		if err != nil { // numbers, texts and maps of them always have a JSON text
			panic(err)
		}
		text = append(append(text, encoded...), '\n')
	}
	_, _ = e.out.Write(text) // without a log there is nowhere to report it
}

// values returns the metrics of a minute. A counter that is 0 is left out, because
// a metric that is absent for an hour costs nothing in it. What was never seen by
// a decision is left out, too.
func values(s *Snapshot) map[string]any {
	all := map[string]any{}
	for name, n := range s.Counters {
		if n > 0 || name == metric.Decisions {
			all[name] = n
		}
	}
	for name, value := range s.Gauges {
		seen := s.Counters[metric.Decisions] > 0 && (name == metric.RulesAge || name == metric.RulesVersion)
		if value > 0 || seen {
			all[name] = digits(value)
		}
	}
	if drawn := s.Latency.Values(maxValues); len(drawn) > 0 {
		list := make([]float64, len(drawn))
		for i, took := range drawn {
			list[i] = digits(float64(took) / float64(time.Millisecond))
		}
		all[metric.StoreLatency] = list
	}
	return all
}

// digits rounds down to three digits, or to a whole number.
func digits(value float64) float64 {
	scale := 1.0
	for value > 0 && value*scale < 100 && scale < 1000 {
		scale *= 10
	}
	return math.Floor(value*scale) / scale
}

// withMetrics adds values to a line, and the metadata by which CloudWatch makes
// them metrics.
func withMetrics(line map[string]any, at time.Time, values map[string]any, dimensions ...string) map[string]any {
	type definition struct{ Name, Unit string }
	var definitions []definition
	for _, m := range metric.All {
		if value, ok := values[m.Name]; ok && m.Exporters&metric.Lambda != 0 {
			definitions = append(definitions, definition{m.Name, string(m.Unit)})
			line[m.Name] = value
		}
	}
	line["_aws"] = map[string]any{
		"Timestamp": at.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": metric.Namespace, "Dimensions": [][]string{dimensions}, "Metrics": definitions,
		}},
	}
	return line
}

// mostActive returns the rules that have counted most, denials before all else,
// and how many others there are.
func mostActive(counts map[string]map[string]int64) (rules []string, leftOut int) {
	rules = slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		x, y := counts[a], counts[b]
		return cmp.Or(cmp.Compare(y[metric.Denied], x[metric.Denied]), cmp.Compare(y[metric.ShadowDenied], x[metric.ShadowDenied]),
			cmp.Compare(y[metric.NearLimit], x[metric.NearLimit]), cmp.Compare(a, b))
	})
	leftOut = max(0, len(rules)-maxRules)
	return rules[:len(rules)-leftOut], leftOut
}
