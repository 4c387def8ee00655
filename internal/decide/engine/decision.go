package engine

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Reason says what decided a request.
type Reason uint8

// The reasons of decisions.
const (
	Limited   Reason = iota // the rules that cover it
	Skipped                 // the rules file's skip allows it
	Banned                  // the rules file's deny, or an override, denies it
	Unmatched               // no enforced rule covers it: the rules file's unmatched decides
	Exempt                  // a plan or an override lifts every rule that covers it
	Ambiguous               // the request is denied: servers may read its path in several ways
	Preflight               // a CORS preflight, which no rule counts and no ban denies
)

var reasonNames = [...]string{"limited", "skipped", "banned", "unmatched", "exempt", "ambiguous", "preflight"}

// String returns the reason as reports name it, such as "limited".
func (r Reason) String() string { return reasonNames[r] }

// Decision is the answer to a request.
//
// Say rule per-ip allows 100 requests a minute and rule login 5, and a client
// logs in for the sixth time within a minute. Then Allowed is false, Reason is
// Limited, and Verdicts holds the verdict of login alone: its Key is
// "login:203.0.113.9", its Limits[0].Remaining is 0, and its RetryAfter is the
// time until the first login leaves the window. What per-ip took is refunded.
// The fifth login was allowed: its Verdicts held both rules, in file order.
type Decision struct {
	Allowed bool
	Reason  Reason
	// Degraded says that a store did not answer, and a rule's on_error decided.
	// Or no rules were ever published, or nothing could verify the credentials.
	Degraded bool
	// Delay is how long the caller must hold an allowed request before passing
	// it on: the longest wait of its leaky buckets.
	Delay time.Duration
	Plan  string // of the caller; empty for none
	// Verdicts has one element for each enforced rule that covers an allowed
	// request, in file order. For a denied request it has only the denying
	// rule's: responses and replays name no other.
	Verdicts []Verdict
	// Shadows are the verdicts of the shadow rules that cover an allowed
	// request, in file order. They change nothing.
	Shadows []Verdict

	set   *rules.Set // the rules that made the decision
	leave func()     // ends what Occupy began; nil if it began nothing
}

// Verdict is one rule's answer to a request.
type Verdict struct {
	limit.Verdict
	Resolution
	// Uncounted says that nothing was counted: the store did not answer, and
	// on_error allowed or denied the request.
	Uncounted bool
	Degraded  bool // the store did not answer, and on_error decided

	decided bool // before its turn: with a group, or by on_error
	free    bool // the rule does not count the request
	charged charged
}

// charged says which store has made a charge. It stands for a Store because
// every verdict has one, and an interface takes sixteen times the room.
type charged uint8

const (
	notCharged     charged = iota
	chargedShared          // by Options.Store
	chargedLocally         // by Options.Local
)

// deny marks the request as denied by v, an element of Verdicts and the only one
// reported. It does not move, because refunds of the others may still go on.
func (d *Decision) deny(v *Verdict) {
	d.Degraded = d.Degraded || v.Degraded
	d.Allowed, d.Delay = false, 0
	for i := range d.Verdicts {
		if &d.Verdicts[i] == v {
			d.Verdicts, d.Shadows = d.Verdicts[i:i+1], nil
			return
		}
	}
}

// splitShadows leaves in Verdicts those of enforced rules, and moves the others
// to Shadows. A rule that does not count the request has no verdict, and neither
// has a lifted rule, unless its override could not be read and on_error has decided.
func (d *Decision) splitShadows() {
	n := 0 // verdicts of enforced rules so far
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		enforced := v.Rule.Enforced()
		d.Degraded = d.Degraded || enforced && v.Degraded
		switch {
		case v.free, v.Terms.Unlimited && !v.decided:
		case !enforced:
			d.Shadows = append(d.Shadows, *v)
		default:
			if n != i { // seldom, and a verdict is large
				d.Verdicts[n] = *v
			}
			n++
		}
	}
	d.Verdicts = d.Verdicts[:n]
}

// conclude allows the request, or denies it if there is a denier.
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

// All returns Verdicts, then Shadows.
func (d *Decision) All() iter.Seq[*Verdict] {
	return func(yield func(*Verdict) bool) {
		for _, vs := range [...][]Verdict{d.Verdicts, d.Shadows} {
			for i := range vs {
				if !yield(&vs[i]) {
					return
				}
			}
		}
	}
}

// Answers says what clients learn of the decision. The rule that denied may have
// an answer of its own, for requests that it has counted: its on_error has that of
// the document.
func (d *Decision) Answers() rules.Answers {
	if d.set == nil { // of a limiter without a document
		return rules.Answers{}
	}
	of := d.set.Answers
	if !d.Allowed && d.Reason == Limited {
		// Several verdicts deny a turn that is too late: that of the latest does.
		v := slices.MaxFunc(d.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Delay, b.Delay) })
		if !v.Degraded && v.Rule.Denied != nil {
			of.Denied = v.Rule.Denied
		}
	}
	return of
}

// Rules returns the rules that made the decision; nil for a limiter without a
// document.
func (d *Decision) Rules() *rules.Set { return d.set }

// RulesVersion returns the number of the rules in their table; 0 for others.
func (d *Decision) RulesVersion() int64 {
	if d.set == nil {
		return 0
	}
	return d.set.Version
}

// PolicyName returns the name by which clients know limit i of the rule:
// "rule", or "rule.limit" if the rule has several limits.
func (v *Verdict) PolicyName(i int) string { return PolicyName(v.Rule.Name, v.Terms.Limits[i].Name) }

// PolicyName returns the name by which clients know a limit: "rule", or
// "rule.limit" for a limit with a name.
func PolicyName(rule, limit string) string {
	if limit == "" {
		return rule
	}
	return rule + "." + limit
}

// Tightest returns the limit that denied the request; if several did, the one
// with the longest wait. For an allowed request it returns the limit with the
// smallest remaining/maximum ratio, quiet rules aside. It returns nil if no
// limit was counted.
func (d *Decision) Tightest() (v *Verdict, i int) {
	for n := range d.Verdicts {
		candidate := &d.Verdicts[n]
		if candidate.Uncounted || candidate.Rule.Quiet {
			continue
		}
		if j := candidate.Tightest(); v == nil || tighter(candidate, j, v, i) {
			v, i = candidate, j
		}
	}
	return v, i
}

// Tightest returns the index of the rule's tightest limit, as Decision.Tightest
// chooses it.
func (v *Verdict) Tightest() (i int) {
	for j := 1; j < len(v.Terms.Limits); j++ {
		if tighter(v, j, v, i) {
			i = j
		}
	}
	return i
}

func tighter(a *Verdict, i int, b *Verdict, j int) bool {
	x, y := &a.Limits[i], &b.Limits[j]
	if x.Allowed != y.Allowed {
		return !x.Allowed
	}
	if !x.Allowed {
		return longer(x.RetryAfter, y.RetryAfter)
	}
	// Ratios compared without division, in 128 bits.
	high, low := bits.Mul64(uint64(x.Remaining), uint64(b.Terms.Limits[j].MaxCost()))
	otherHigh, otherLow := bits.Mul64(uint64(y.Remaining), uint64(a.Terms.Limits[i].MaxCost()))
	return high < otherHigh || high == otherHigh && low < otherLow
}
