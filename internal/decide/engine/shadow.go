package engine

import (
	"context"
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
			v.charged = chargedShared
		}
	}
}
