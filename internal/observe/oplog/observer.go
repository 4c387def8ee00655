// Package oplog writes what operators read: failures of stores, stale overrides,
// results of shadow rules, useless costs, and steps of the clock. It limits
// repeated lines, because a line for every request of a flood or an outage would
// cost more than the requests.
package oplog

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// reportEvery is how often shadow rules and candidates are reported.
const reportEvery = 10 * time.Second

// Observer logs store failures, stale overrides, unreadable addresses, and what shadow rules and
// candidate capacities would have done. A flood of failures gives one line for
// each action, rule and reason in ten seconds. Shadow results are summed up
// every ten seconds in which a request meets one. A process that ends without
// Flush loses up to ten seconds of both. It is safe for concurrent use.
type Observer struct {
	engine.NoObserver
	log       *slog.Logger
	throttled *slog.Logger
	throttle  *Handler // of throttled

	mu      sync.Mutex
	since   time.Time // of the counts in shadows; the zero Time before the first decision
	shadows map[string]*shadowCounts
}

// shadowCounts are the results of one shadow rule or candidate capacity.
type shadowCounts struct {
	requests, wouldDeny, wouldAllow int64
	key                             string // of the latest request that would have had another result
}

// NewObserver returns an observer that writes to log.
func NewObserver(log *slog.Logger) *Observer {
	throttle := NewHandler(log.Handler(), "action", "rule", "error")
	return &Observer{log: log, throttled: slog.New(throttle), throttle: throttle, shadows: map[string]*shadowCounts{}}
}

// StoreFailed logs a failure that a decision survived; a store that throttles
// and usage that cannot settle have other messages. Lines with the same action, rule and root cause are
// throttled, whatever the key.
func (o *Observer) StoreFailed(ctx context.Context, action, rule, key string, err error) {
	message := "store failed"
	if _, refused := errors.AsType[limit.Throttled](err); refused {
		message = "store throttles"
	} else if _, refused := errors.AsType[*engine.UsageError](err); refused {
		message = "usage refused, so the charge stays"
	}
	attrs := []any{"action", action, "rule", rule, "key", key, "error", err}
	if counted, ok := errors.AsType[*engine.LocalError](err); ok {
		attrs = append(attrs, "local", LocalText(counted.Shares, counted.Costs)+" in this process")
	}
	o.throttled.ErrorContext(ctx, message, attrs...)
}

// StaleOverride logs that an override is stale: it no longer fits its rule.
// Lines for the same rule are throttled.
func (o *Observer) StaleOverride(ctx context.Context, _ time.Time, rule, key string) {
	o.throttled.WarnContext(ctx, "an override does not fit the rules in force, so part of it does not apply; "+
		"see `slidegate overrides get` and `slidegate rules diff`", "rule", rule, "key", key)
}

// WarnAddress logs that a proxy's entry for its client is no address: all clients
// behind that entry share a counter. log is a throttled one.
func WarnAddress(ctx context.Context, log *slog.Logger, r *request.Request) {
	if r.Unreadable != "" {
		log.WarnContext(ctx, "a proxy's entry for its client is no address, so the address of the proxy counts",
			"entry", clip(r.Unreadable), "counts", r.Addr())
	}
}

// Decided counts shadow results, and logs the lines that are due.
func (o *Observer) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	o.throttle.Sweep(ctx, now)
	WarnAddress(ctx, o.throttled, req)
	results := slices.Collect(d.ShadowResults())
	if len(results) == 0 {
		return // takes no lock
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range results {
		o.count(&results[i])
	}
	if now.Sub(o.since).Abs() >= reportEvery {
		if !o.since.IsZero() {
			o.reportShadows(ctx)
		}
		o.since = now
	}
}

// count counts a shadow result. The caller holds the mutex.
func (o *Observer) count(r *engine.ShadowResult) {
	what := r.Name()
	c := o.shadows[what]
	if c == nil {
		c = &shadowCounts{}
		o.shadows[what] = c
	}
	c.requests++
	switch r.Outcome {
	case engine.WouldDeny:
		c.wouldDeny++
	case engine.WouldAllow:
		c.wouldAllow++
	default:
		return
	}
	c.key = r.Key
}

// Flush logs the shadow results so far, and the lines that were suppressed.
func (o *Observer) Flush(ctx context.Context) {
	o.throttle.Flush(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reportShadows(ctx)
}

func (o *Observer) reportShadows(ctx context.Context) {
	for _, what := range slices.Sorted(maps.Keys(o.shadows)) {
		c := o.shadows[what]
		o.log.InfoContext(ctx, "shadow results", "what", what, "requests", c.requests, "would_deny", c.wouldDeny,
			"would_allow", c.wouldAllow, "key", c.key)
	}
	clear(o.shadows)
}
