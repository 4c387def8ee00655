package engine

import (
	"context"
	"iter"
	"time"
)

// CandidateOutcome says what a candidate capacity would have changed about a
// request.
type CandidateOutcome uint8

// The outcomes of a candidate capacity.
const (
	NoCandidate CandidateOutcome = iota // the limit has no candidate, or was not counted
	Same                                // the candidate would have decided the same
	WouldDeny                           // the request was allowed
	WouldAllow                          // the request was denied
)

// CandidateOutcome evaluates the candidate capacity of limit i by the units
// counted for the capacity in force. It reads only the verdict and writes
// nothing. Requests that a lower candidate would have denied still count against
// it, so it may over-report denials.
func (v *Verdict) CandidateOutcome(i int) CandidateOutcome {
	capacity, ok := v.Terms.Candidate(i)
	if !ok || v.Degraded || v.Terms.Denied {
		return NoCandidate
	}
	used := v.Terms.Limits[i].Capacity - v.Limits[i].Remaining
	switch {
	case v.Terms.Costs[i] == 0:
	case v.Allowed && used > capacity:
		return WouldDeny
	case !v.Limits[i].Allowed && used+v.Terms.Costs[i] <= capacity:
		return WouldAllow
	}
	return Same
}

// ShadowResult is what a shadow rule, or the candidate capacity of a limit, would
// have decided about a request.
type ShadowResult struct {
	*Verdict
	Limit   int // of Terms.Limits, whose candidate it is; -1 for a shadow rule
	Outcome CandidateOutcome
}

// Name is the name by which operators know it: "rule", "rule candidate" or
// "rule.limit candidate".
func (r *ShadowResult) Name() string {
	if r.Limit < 0 {
		return r.Rule.Name
	}
	return CandidateName(r.Rule.Name, r.Terms.Limits[r.Limit].Name)
}

// CandidateName returns the name by which operators know the candidate of a
// limit.
func CandidateName(rule, limit string) string { return PolicyName(rule, limit) + " candidate" }

// ShadowResults returns what candidate capacities and shadow rules would have
// decided. Most decisions have none.
func (d *Decision) ShadowResults() iter.Seq[ShadowResult] {
	return func(yield func(ShadowResult) bool) {
		for v := range d.All() {
			if v.Rule.Candidates == nil {
				continue
			}
			for i := range v.Terms.Limits {
				if outcome := v.CandidateOutcome(i); outcome != NoCandidate && !yield(ShadowResult{v, i, outcome}) {
					return
				}
			}
		}
		for i := range d.Shadows {
			result := ShadowResult{&d.Shadows[i], -1, Same}
			if !result.Allowed {
				result.Outcome = WouldDeny
			}
			if !yield(result) {
				return
			}
		}
	}
}

// WouldDeny reports whether a shadow rule or a candidate capacity would have
// denied the request, which was allowed.
func (d *Decision) WouldDeny() bool {
	for r := range d.ShadowResults() {
		if r.Outcome == WouldDeny {
			return true
		}
	}
	return false
}

// evaluateShadows charges the shadow rules of an allowed request as if they
// were in force. Their failures are recorded and change nothing.
func (e *Engine) evaluateShadows(ctx context.Context, now time.Time, d *Decision) {
	if !d.Allowed {
		d.Shadows = nil
	}
	for i := range d.Shadows {
		v := &d.Shadows[i]
		if v.decided || v.Terms.Denied {
			continue
		}
		if err := e.chargeShared(ctx, now, v); err != nil {
			e.opts.Observer.StoreFailed(ctx, "charge shadow rule", v.Rule.Name, v.Key, err)
			v.Degraded, v.Uncounted, v.Allowed = true, true, true
		} else if v.Allowed {
			v.take()
		}
	}
}
