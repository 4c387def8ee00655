package live

import (
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	bucketTime  = 5 * time.Second
	mostBuckets = 120 // ten minutes
	fewBuckets  = 24  // the chart's width at the start: two minutes
)

// bucket has the decisions of five seconds.
type bucket struct {
	replay.Counts
	rules map[string]replay.Counts // those that decided
}

// rates are the decisions of each five seconds of the last ten minutes.
type rates struct {
	mu      sync.Mutex
	current bucket
	until   time.Time // the end of the current bucket
	ended   []bucket
}

// count counts a decision.
func (r *rates) count(d *engine.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current.rules == nil {
		r.current.rules = map[string]replay.Counts{}
	}
	shadow := false
	for _, verdicts := range [...][]engine.Verdict{d.Verdicts, d.Shadows} {
		for i := range verdicts {
			allowed, would := outcome(&verdicts[i])
			counts := r.current.rules[verdicts[i].Rule.Name]
			counts.Add(allowed, would)
			r.current.rules[verdicts[i].Rule.Name] = counts
			shadow = shadow || would
		}
	}
	r.current.Add(d.Allowed, shadow)
}

// outcome returns whether a rule lets a request pass, and whether the rule would
// deny it with its candidate capacity or without mode: shadow.
func outcome(v *engine.Verdict) (allowed, would bool) {
	shadow := v.Rule.Mode == rules.Shadow
	would = shadow && !v.Allowed
	for i := range v.Limits {
		would = would || v.CandidateOutcome(i) == engine.WouldDeny
	}
	return v.Allowed || shadow, would
}

// roll ends the buckets that are over.
func (r *rates) roll(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; !now.Before(r.until); r.until = r.until.Add(bucketTime) {
		r.ended = append(r.ended, r.current)
		r.current = bucket{}
	}
	r.ended = slices.Delete(r.ended, 0, max(0, len(r.ended)-mostBuckets))
}

// all returns the buckets that ended, after empty ones from before the start, and
// when the first begins.
func (r *rates) all() (buckets []bucket, from time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	buckets = append(make([]bucket, max(0, fewBuckets-len(r.ended))), r.ended...)
	return buckets, r.until.Add(-time.Duration(len(buckets)+1) * bucketTime)
}
