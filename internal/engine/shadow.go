package engine

import (
	"context"
	"time"
)

// Trial says what a capacity on trial would have changed about a request.
type CandidateOutcome uint8

const (
	NoCandidate    CandidateOutcome = iota // there is none, or the counter in force was not asked
	Same                    // the request would have fared the same
	WouldDeny               // the request was allowed
	WouldAllow              // the request was denied
)

// Trial judges limit i of the rule by its capacity on trial, on the units that are charged to the capacity in force: it
// reads no more than the verdict, and writes nothing. So the trial of a lower capacity counts requests against it that it
// would itself have denied, and says rather more denials than it would have come to.
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

// try asks the rules on trial about a request if it is allowed. They charge as if they were in force, and whatever goes
// wrong there is recorded and changes nothing.
func (e *Engine) try(ctx context.Context, now time.Time, d *Decision) {
	if !d.Allowed {
		d.Shadows = nil
	}
	for i := range d.Shadows {
		v := &d.Shadows[i]
		if v.asked || v.banned {
			continue
		}
		v.asked = true
		if err := e.opts.Store.Charge(ctx, now, &v.charge, &v.Verdict); err != nil {
			e.opts.Recorder.StoreFailed(ctx, "judge on trial", v.Rule.Name, v.Key, err)
			v.Degraded, v.Uncounted, v.Allowed = true, true, true
		} else if v.Allowed {
			v.charged = e.opts.Store
		}
	}
}
