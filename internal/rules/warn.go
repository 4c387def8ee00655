package rules

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// LongestHold is how long the local gateway holds a request for its turn in a leaky bucket.
const LongestHold = 10 * time.Second

// warn returns what is allowed but likely to be meant otherwise.
func (d *decoder) warn(s *Set) Errors {
	var near overlap
	var warnings Errors
	for i, r := range s.Rules {
		at := d.at[r]
		if len(r.template.client) > 0 && !s.hasBackstop(r) {
			warnings = append(warnings, at.key.problem(fmt.Sprintf(
				"the client can make up a new value of %s for every request and is then never limited: "+
					"add a rule with a key such as \"ip:{ip}\" for the same requests", enumerate(r.template.client, "and"))))
		}
		for j := range r.Limits {
			if problem := longQueue(&r.Limits[j], r.Costs[j]); problem != "" {
				warnings = append(warnings, at.queues[j].problem(problem))
			}
		}
		if !near.spent() {
			warnings = append(warnings, d.warnBeside(s, &near, i)...)
		}
	}
	return warnings
}

// warnBeside returns the warnings about rule i that other rules give cause for. Where there are more patterns than are
// compared, that is said instead: a warning would be a guess.
func (d *decoder) warnBeside(s *Set, near *overlap, i int) (warnings Errors) {
	r := s.Rules[i]
	at := d.at[r]
	if kept := r.keeps(); kept != "" {
		if denier := s.deniesAfter(near, i); denier != nil {
			warnings = append(warnings, at.limits.problem(fmt.Sprintf(
				"what a %s takes is not given back where rule %s denies the same request afterwards: "+
					"put this rule below it, or write atomic: true in both", kept, denier.Name)))
		}
	}
	if r.Atomic && !s.hasPartner(near, r) {
		warnings = append(warnings, at.atomic.problem("means nothing here: no other rule for the same requests is atomic"))
	}
	if near.spent() {
		return Errors{at.key.problem("there are more routes and paths than are compared: from this rule on, warnings " +
			"about rules that cover the same requests are left out")}
	}
	return warnings
}

// longQueue says of a queue that it takes longer to drain than the local gateway holds a request; nothing of other limits.
func longQueue(l *limit.Limit, cost int64) (problem string) {
	if l.Algorithm != limit.LeakyBucket || cost == 0 {
		return ""
	}
	most := max(cost, int64(LongestHold/l.Interval()))
	if l.Burst <= most {
		return ""
	}
	return fmt.Sprintf("the queue takes %s to drain, and the local gateway holds a request for %s at most: write queue: %d",
		formatDuration(l.Drain().Round(time.Millisecond)), formatDuration(LongestHold), most)
}

// hasBackstop reports whether another rule limits the same requests by what the gateway says of them: a client that makes
// up a new value for every request is never limited by what it says. Only a rule for every request, or one for requests
// that are described in the same words, is sure to.
func (s *Set) hasBackstop(r *Rule) bool {
	for _, other := range s.Rules {
		if len(other.template.client) == 0 && other.counts() && (other.when.everything() || other.when.sameAs(&r.when)) {
			return true
		}
	}
	return false
}

// counts reports whether a request takes anything from the rule's limits.
func (r *Rule) counts() bool {
	for _, c := range r.Costs {
		if c > 0 {
			return true
		}
	}
	return false
}

// keeps returns the name of an algorithm that the rule takes units by and cannot give back; empty if there is none.
func (r *Rule) keeps() string {
	for i := range r.Limits {
		if l := &r.Limits[i]; r.Costs[i] > 0 && !l.Correctable() {
			return l.Algorithm.String()
		}
	}
	return ""
}

// deniesAfter returns a rule that may deny a request once rule i has charged it.
func (s *Set) deniesAfter(near *overlap, i int) *Rule {
	r, place := s.Rules[i], s.place(near, i)
	for j, other := range s.Rules[place:] {
		if j+place != i && !(r.Atomic && other.Atomic) && other.counts() && near.rules(r, other) {
			return other
		}
	}
	return nil
}

// place returns the index of the rule at whose turn rule i is charged: an atomic rule is charged with the first of its
// kind that covers the request.
func (s *Set) place(near *overlap, i int) int {
	if !s.Rules[i].Atomic {
		return i
	}
	for j, other := range s.Rules[:i] {
		if other.Atomic && near.rules(s.Rules[i], other) {
			return j
		}
	}
	return i
}

// hasPartner reports whether another atomic rule may be charged together with this one.
func (s *Set) hasPartner(near *overlap, r *Rule) bool {
	for _, other := range s.Rules {
		if other != r && other.Atomic && near.rules(r, other) {
			return true
		}
	}
	return false
}
