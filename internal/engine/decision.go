package engine

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Reason says on what ground a request was decided.
type Reason uint8

const (
	Limited   Reason = iota // by the rules that cover it
	Skipped                 // allowed by the rule file's skip
	Banned                  // denied by the rule file's deny, or by an override
	Unmatched               // no rule in force covers it: as the rule file's unmatched says
	Exempt                  // allowed: a plan or an override lifts every rule that covers it
	Ambiguous               // denied: servers may read its path in several ways
)

// Decision is the answer to a request.
type Decision struct {
	Allowed  bool
	Reason   Reason
	Degraded bool // a store did not answer, and a rule's on_error decided
	// Delay is how long an allowed request is to be held before it goes on: the longest that a leaky bucket asks for.
	Delay time.Duration
	Plan  string // of the caller; empty for none
	Why   string // an override denies, as it says
	// Verdicts has one element for each enforced rule that covers an allowed request, in file order. For a denied one it
	// holds the denying rule's alone.
	Verdicts []Verdict
	// Shadows are what the rules on trial say of an allowed request, in file order. They change nothing.
	Shadows []Verdict

	set *rules.Set // that it was made by
}

// Verdict is what one rule says of a request.
type Verdict struct {
	limit.Verdict
	Rule  *rules.Rule
	Key   string      // what the rule counts by, as filled in from the request
	Terms rules.Terms // what the rule comes to for this request
	// Blind says that nothing was counted: the store did not answer, and on_error allows or denies regardless.
	Blind    bool
	Degraded bool

	charge  limit.Charge
	banned  bool // an override denies the key
	asked   bool
	charged Store // that has made the charge; nil while none has
}

// refuses reports whether nobody could be asked, and on_error denies.
func (v *Verdict) refuses() bool { return v.asked && !v.Allowed }

// open reports whether the store is still to be asked.
func (v *Verdict) open() bool { return !v.asked && !v.Terms.Unlimited }

// denier returns the verdict if it denies, else nil.
func (v *Verdict) denier() *Verdict {
	if v.Allowed {
		return nil
	}
	return v
}

// Settles reports whether what was charged is corrected once an answer is known. It takes somebody who sees the answer.
func (v *Verdict) Settles() bool {
	for i := range v.Terms.Limits {
		if v.Terms.Settles(i) {
			return true
		}
	}
	return v.Rule.Settles()
}

// ban makes the decision that an override denies the request.
func (d *Decision) ban(v *Verdict) {
	d.Reason, d.Why = Banned, v.Terms.Why
	d.deny(v)
}

// deny makes the decision that a verdict denies the request. It is all that is told of it.
func (d *Decision) deny(v *Verdict) {
	d.Degraded = d.Degraded || v.Degraded
	d.Allowed, d.Delay = false, 0
	d.Verdicts, d.Shadows = []Verdict{*v}, nil
}

// add puts a verdict where it belongs. One that is lifted is none, unless nobody could be asked whether it is.
func (d *Decision) add(v *Verdict) {
	if v.Rule.Enforced() {
		d.Degraded = d.Degraded || v.Degraded
	}
	switch {
	case v.Terms.Unlimited && !v.asked:
	case v.Rule.Enforced():
		d.Verdicts = append(d.Verdicts, *v)
	default:
		d.Shadows = append(d.Shadows, *v)
	}
}

// conclude decides by the verdicts: deny where one of them does, else allow.
func (d *Decision) conclude(denier *Verdict) {
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		d.Degraded = d.Degraded || v.Degraded
		d.Delay = max(d.Delay, v.Delay)
	}
	if d.Allowed = denier == nil; !d.Allowed {
		d.deny(denier)
	}
}

// PolicyName returns the name by which clients know limit i of the rule: "rule", or "rule.limit" if it has several.
func (v *Verdict) PolicyName(i int) string { return policyName(v.Rule.Name, v.Terms.Limits[i].Name) }

func policyName(rule, limit string) string {
	if limit == "" {
		return rule
	}
	return rule + "." + limit
}

// Tightest returns the limit that denied the request, the one to wait longest for if several did, else the one with the
// least share left of what it holds. Of an allowed request, limits that clients are not told of do not count. It returns
// nil if no limit was asked.
func (d *Decision) Tightest() (v *Verdict, i int) {
	for n := range d.Verdicts {
		candidate := &d.Verdicts[n]
		if candidate.Blind || candidate.Rule.Quiet {
			continue
		}
		for j := range candidate.Terms.Limits {
			if v == nil || tighter(candidate, j, v, i) {
				v, i = candidate, j
			}
		}
	}
	return v, i
}

func tighter(a *Verdict, i int, b *Verdict, j int) bool {
	x, y := &a.Limits[i], &b.Limits[j]
	if x.Allowed != y.Allowed {
		return !x.Allowed
	}
	if !x.Allowed {
		return longer(x.RetryAfter, y.RetryAfter)
	}
	// Shares compared without division: both numbers are below 2³².
	return uint64(x.Remaining)*uint64(b.Terms.Limits[j].Most()) < uint64(y.Remaining)*uint64(a.Terms.Limits[i].Most())
}
