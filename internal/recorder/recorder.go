// Package recorder logs what operators must learn about decisions.
package recorder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/logthrottle"
)

// reportEvery is how often shadow rules and candidates are reported.
const reportEvery = 10 * time.Second

// Recorder logs store failures, stale overrides, and what shadow rules and
// candidate capacities would have done. A flood of failures gives one line for
// each action, rule and reason in ten seconds. Shadow results are summed up
// every ten seconds in which a request meets one. A process that ends without
// Flush loses up to ten seconds of both. It is safe for concurrent use.
type Recorder struct {
	log       *slog.Logger
	throttled *slog.Logger
	throttle  *logthrottle.Handler // of throttled

	mu      sync.Mutex
	since   time.Time // of the counts in shadows; the zero Time before the first decision
	shadows map[string]*shadowCounts
}

// shadowCounts are the results of one shadow rule or candidate capacity.
type shadowCounts struct {
	requests, wouldDeny, wouldAllow int64
	key                             string // of the latest request that would have had another result
}

// New returns a recorder.
func New(log *slog.Logger) *Recorder {
	throttle := logthrottle.New(log.Handler(), "action", "rule", "error")
	return &Recorder{log: log, throttled: slog.New(throttle), throttle: throttle, shadows: map[string]*shadowCounts{}}
}

// StoreFailed logs a failure that a decision survived; a store that throttles
// has another message. Lines with the same action, rule and root cause are
// throttled, whatever the key.
func (r *Recorder) StoreFailed(ctx context.Context, action, rule, key string, err error) {
	message := "store failed"
	if _, refused := errors.AsType[limit.Throttled](err); refused {
		message = "store throttles"
	}
	r.throttled.ErrorContext(ctx, message, "action", action, "rule", rule, "key", key, "error", err)
}

// StaleOverride logs that an override is stale: it no longer fits its rule.
// Lines for the same rule are throttled.
func (r *Recorder) StaleOverride(ctx context.Context, _ time.Time, rule, key string) {
	r.throttled.WarnContext(ctx, "an override does not fit the rules in force, so part of it does not apply; "+
		"see `slidegate overrides get` and `slidegate rules diff`", "rule", rule, "key", key)
}

// Decided counts shadow results, and logs the lines that are due.
func (r *Recorder) Decided(ctx context.Context, now time.Time, d *engine.Decision) {
	r.throttle.Sweep(ctx, now)
	if !r.concerns(d) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range d.Verdicts {
		r.candidates(&d.Verdicts[i])
	}
	for i := range d.Shadows {
		v := &d.Shadows[i]
		r.candidates(v)
		r.count(v.Rule.Name, v.Key, !v.Allowed, false)
	}
	if now.Sub(r.since).Abs() >= reportEvery {
		if !r.since.IsZero() {
			r.reportShadows(ctx)
		}
		r.since = now
	}
}

// concerns reports whether a decision has shadow results. Most decisions have
// none, and take no lock.
func (r *Recorder) concerns(d *engine.Decision) bool {
	for i := range d.Verdicts {
		if d.Verdicts[i].Rule.Candidates != nil {
			return true
		}
	}
	return len(d.Shadows) > 0
}

// candidates counts the candidate capacities of one rule.
func (r *Recorder) candidates(v *engine.Verdict) {
	if v.Rule.Candidates == nil {
		return
	}
	for i := range v.Terms.Limits {
		if t := v.CandidateOutcome(i); t != engine.NoCandidate {
			r.count(v.PolicyName(i)+" candidate", v.Key, t == engine.WouldDeny, t == engine.WouldAllow)
		}
	}
}

func (r *Recorder) count(what, key string, wouldDeny, wouldAllow bool) {
	c := r.shadows[what]
	if c == nil {
		c = &shadowCounts{}
		r.shadows[what] = c
	}
	c.requests++
	if wouldDeny {
		c.wouldDeny++
	}
	if wouldAllow {
		c.wouldAllow++
	}
	if wouldDeny || wouldAllow {
		c.key = key
	}
}

// Flush logs the shadow results so far, and the lines that were suppressed.
func (r *Recorder) Flush(ctx context.Context) {
	r.throttle.Flush(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reportShadows(ctx)
}

func (r *Recorder) reportShadows(ctx context.Context) {
	for _, what := range slices.Sorted(maps.Keys(r.shadows)) {
		c := r.shadows[what]
		r.log.InfoContext(ctx, "shadow results", "what", what, "requests", c.requests, "would_deny", c.wouldDeny,
			"would_allow", c.wouldAllow, "key", c.key)
	}
	clear(r.shadows)
}
