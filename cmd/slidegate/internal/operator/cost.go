package operator

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// CostOptions say what to compute a bill for: either a log with rules, or a
// number of requests with rules or a number of limits.
type CostOptions struct {
	cost.Options
	Rules    string                         // a file; empty for none
	Traffic  logs.Traffic                   // without logs for none
	Requests float64                        // a month
	Denied   func(requests float64) float64 // how many of these; nil for none
	Limits   int                            // that charge a request, without rules
}

// Cost returns a month's bill.
func Cost(ctx context.Context, o *CostOptions, listener Listener) (*cost.Report, error) {
	denied := 0.0
	if o.Denied != nil {
		denied = o.Denied(o.Requests)
	}
	if o.Rules == "" {
		return cost.NewReport(&o.Options, cost.Estimate(o.Requests, denied, o.Limits)), nil
	}
	s, err := OpenReplay(ctx, session.Locations{RulesFile: o.Rules}, listener)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if len(o.Traffic.Logs) == 0 {
		listener.Note("every rule counts as one that covers every request; --log shows what they cover")
		return cost.NewReport(&o.Options, cost.EstimateRules(o.Requests, denied, s.Rules)), nil
	}
	traffic, err := recordedTraffic(ctx, o, s, listener)
	if err != nil {
		return nil, err
	}
	return cost.NewReport(&o.Options, traffic), nil
}

// recordedTraffic replays the logs, and returns their traffic for a month of it.
func recordedTraffic(ctx context.Context, o *CostOptions, s *session.Session, listener Listener) (*cost.Traffic, error) {
	var failures replay.Failures
	counted := cost.Count(memory.NewSequential(session.RecordedKeys), s.Rules)
	progress := listener.Progress()
	result, err := replay.Run(ctx, recorded(o.Traffic, progress, listener), replay.Options{
		Engine: engine.New(engine.Options{
			Rules: engine.Fixed{Set: s.Rules}, Store: counted, Local: memory.New(0), Observer: &failures,
		}),
		Rules: s.Rules,
	})
	progress.Clear()
	noteLog(&result.Extent, listener)
	if err := replayError(result.Requests, result.Degraded, err, failures.First()); err != nil {
		return nil, err
	}
	span := result.Span()
	if span < time.Minute {
		return nil, fmt.Errorf("the log spans %s: give one of a minute or more, better of a week, or --requests", text.Brief(span))
	}
	for _, lacking := range whatLacks(result) {
		listener.Warn("%v", lacking)
	}
	times := cost.Month.Seconds() / span.Seconds()
	listener.Note("the log spans %s: its requests count %s times for a month", text.Brief(span), text.Thousands(int64(math.Round(times))))
	return counted.Traffic(float64(result.Requests)*times, float64(result.Denied)*times, times), nil
}
