package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/sparing"
)

// Recorder logs failures, and what rules and capacities on trial would have done: a line for each of them, every ten
// seconds in which a request meets one; the first failure of a kind at once. A process that ends without Flush takes up to
// ten seconds of that with it. It is safe for concurrent use.
type Recorder struct {
	log         *slog.Logger
	seesAnswers bool
	failures    *failures

	mu     sync.Mutex
	since  time.Time // the zero Time before the first decision
	trials map[string]*trial
	warned map[string]bool
	misfit map[string]*sparing.Line // by rule
}

// trial is what a rule or a limit on trial would have done.
type trial struct {
	requests, wouldDeny, wouldAllow int64
	key                             string // the latest that would have fared otherwise
}

// NewRecorder returns a recorder. seesAnswers says that somebody calls Finish once a backend has answered; otherwise rules
// that wait for it are reported once.
func NewRecorder(log *slog.Logger, seesAnswers bool) *Recorder {
	return &Recorder{
		log: log, seesAnswers: seesAnswers, failures: newFailures(log),
		trials: map[string]*trial{}, warned: map[string]bool{}, misfit: map[string]*sparing.Line{},
	}
}

// StoreFailed logs a failure that a decision survived. If the same action has failed for the same rule and reason within
// ten seconds, it is counted, whatever the key, and told by a later line.
func (r *Recorder) StoreFailed(ctx context.Context, action, rule, key string, err error) {
	r.failures.add(ctx, failure{action, rule, key, err})
}

// StaleOverride logs, for each rule once in ten seconds, that an override does not fit it.
func (r *Recorder) StaleOverride(ctx context.Context, now time.Time, rule, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.misfit[rule] == nil {
		r.misfit[rule] = &sparing.Line{}
	}
	if _, ok := r.misfit[rule].Due(now); !ok {
		return
	}
	r.log.WarnContext(ctx, "an override does not fit the rules as they are now: what does not fit is left out; "+
		"see `slidegate overrides get` and `slidegate rules diff`", "rule", rule, "key", key)
}

// Decided counts what is on trial, and tells what is due.
func (r *Recorder) Decided(ctx context.Context, now time.Time, d *engine.Decision) {
	r.failures.tell(ctx, now)
	if !r.concerns(d) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range d.Verdicts {
		r.candidates(ctx, &d.Verdicts[i])
	}
	for i := range d.Shadows {
		v := &d.Shadows[i]
		r.candidates(ctx, v)
		r.count(v.Rule.Name, v.Key, !v.Allowed, false)
	}
	if now.Sub(r.since).Abs() >= sparing.Every {
		if !r.since.IsZero() {
			r.flush(ctx)
		}
		r.since = now
	}
}

// concerns reports whether anything of a decision is on trial, or to be warned of: most decisions pass without a lock.
func (r *Recorder) concerns(d *engine.Decision) bool {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Rule.Candidates != nil || !r.seesAnswers && v.Settles() {
			return true
		}
	}
	return len(d.Shadows) > 0
}

// candidates counts the capacities on trial of one rule.
func (r *Recorder) candidates(ctx context.Context, v *engine.Verdict) {
	if !r.seesAnswers && !r.warned[v.Rule.Name] && v.Settles() {
		r.warned[v.Rule.Name] = true
		r.log.WarnContext(ctx, "nobody here sees answers: refund_on and settle have no effect", "rule", v.Rule.Name)
	}
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
	t := r.trials[what]
	if t == nil {
		t = &trial{}
		r.trials[what] = t
	}
	t.requests++
	if wouldDeny {
		t.wouldDeny++
	}
	if wouldAllow {
		t.wouldAllow++
	}
	if wouldDeny || wouldAllow {
		t.key = key
	}
}

// Flush logs what is on trial now, and the failures that were held back.
func (r *Recorder) Flush(ctx context.Context) {
	r.failures.flush(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(ctx)
}

func (r *Recorder) flush(ctx context.Context) {
	for _, what := range slices.Sorted(maps.Keys(r.trials)) {
		t := r.trials[what]
		r.log.InfoContext(ctx, "on trial", "what", what, "requests", t.requests, "would_deny", t.wouldDeny, "would_allow", t.wouldAllow, "key", t.key)
	}
	clear(r.trials)
}
