// Package meter gives modules that report metrics, such as limitotel, what
// limiters and gates of a program do. Those modules may be of another version than
// this one, so the package is a contract between them.
package meter

import (
	"context"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/request"
)

// Description describes a metric.
type Description struct {
	Name string // such as "slidegate.near_limit"
	Help string
}

// Latency describes what Sink.Latency gets.
var Latency Description

// Counters describes what Meter.Counts returns.
var Counters []Description

// names has the names of the counters by those of package metric.
var names = map[string]string{}

func init() {
	for _, m := range metric.All {
		if m.Exporters&metric.Library == 0 {
			continue
		}
		name := strings.TrimPrefix(m.Prometheus, "slidegate_")
		name = "slidegate." + strings.TrimSuffix(strings.TrimSuffix(name, "_total"), "_seconds")
		if d := (Description{name, m.Help}); m.Name == metric.StoreLatency {
			Latency = d
		} else {
			Counters, names[m.Name] = append(Counters, d), name
		}
	}
}

// LatencyBounds returns the bounds of the buckets for Latency, in seconds.
func LatencyBounds() (seconds []float64) {
	for _, bound := range telemetry.Bounds() {
		seconds = append(seconds, bound.Seconds())
	}
	return seconds
}

// Sink gets what is no counter of Meter, as it happens. Its functions run on the
// path of requests, concurrently.
type Sink struct {
	// Latency gets the time of a call of the store.
	Latency func(ctx context.Context, took time.Duration)
	// Utilization gets the share of its tightest limit that a key has in use after
	// a decision, from 0 to 1.
	Utilization func(ctx context.Context, rule string, share float64)
	// Failure gets the failures that a slidegate.Event has.
	Failure func(ctx context.Context, rule, action string, err error)
}

// Meter counts what limiters and gates do. It is safe for concurrent use.
type Meter struct{ observer observer }

// New returns a meter whose counters are all 0. now is time.Now.
func New(now func() time.Time, s Sink) *Meter {
	return &Meter{observer{telemetry.NewRecorder(telemetry.Options{Now: now, Took: s.Latency, WithoutTopKeys: true}), s}}
}

// Option has limiters, gates and settling counted. It is a slidegate.SharedOption.
func (m *Meter) Option() setup.SharedOption {
	return func(c *setup.Config) {
		c.Meters = append(c.Meters, &m.observer)
		c.Observers = append(c.Observers, func(ctx context.Context, e *setup.Event) {
			if e.Err != nil {
				m.observer.sink.Failure(ctx, e.Rule, e.Action, e.Err)
			}
		})
	}
}

// Count is the value of a counter, of one rule if Rule is not empty.
type Count struct {
	Name string
	Rule string
	N    int64
}

// Counts returns the counters since New. Those that count by rule have a value for
// each rule that is not 0, and without a rule what no rule did, such as a ban.
func (m *Meter) Counts() (all []Count) {
	s := m.observer.Counted()
	for _, of := range metric.All {
		name, ok := names[of.Name]
		switch {
		case !ok:
			continue
		case !of.ByRule:
			all = append(all, Count{name, "", s.Counters[of.Name]})
			continue
		case of.Name == metric.Denied && s.DeniedByNone > 0:
			all = append(all, Count{name, "", s.DeniedByNone})
		}
		for rule, counts := range s.Rules {
			if n := counts[of.Name]; n > 0 {
				all = append(all, Count{name, rule, n})
			}
		}
	}
	return all
}

// observer sees what an engine does.
type observer struct {
	*telemetry.Recorder
	sink Sink
}

// Decided counts a decision, and reports how far limits are used.
func (o *observer) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	o.Recorder.Decided(ctx, now, req, d)
	for v := range d.All() {
		if v.Uncounted || v.Degraded || len(v.Limits) == 0 {
			continue
		}
		at := v.Tightest()
		left := float64(v.Limits[at].Remaining) / float64(v.Terms.Limits[at].MaxCost())
		o.sink.Utilization(ctx, v.Rule.Name, min(1, max(0, 1-left)))
	}
}
