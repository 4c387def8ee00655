package rules

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// LongestHold is how long the local gateway holds a request for its turn in a leaky bucket.
const LongestHold = 10 * time.Second

// warn returns what is allowed but likely to be meant otherwise. Of a rule that is off nothing is said.
func (d *decoder) warn(s *Set) Errors {
	var near overlap
	var warnings Errors
	for i, r := range s.Rules {
		if r.Mode == Off {
			continue
		}
		warnings = append(warnings, d.warnOf(s, i)...)
		if !near.spent() {
			warnings = append(warnings, d.warnBeside(s, &near, i)...)
		}
	}
	return warnings
}

// warnOf returns the warnings about rule i alone, its backstop and its counter.
func (d *decoder) warnOf(s *Set, i int) (warnings Errors) {
	r := s.Rules[i]
	at := d.at[r]
	if len(r.template.client) > 0 && !s.hasBackstop(r) {
		warnings = append(warnings, at.key.problem(fmt.Sprintf(
			"the client can make up a new value of %s for every request and is then never limited: "+
				"add a rule with a key such as \"ip:{ip}\" for the same requests", enumerate(r.template.client, "and"))))
	}
	for j := range r.Limits {
		if problem := longQueue(&r.Limits[j], r.Costs[j].most()); problem != "" {
			warnings = append(warnings, at.queues[j].problem(problem))
		}
		if problem := r.Costs[j].believes(); problem != "" && !at.costs[j].isAmong(at.costs[:j]) { // said once, where several limits share it
			warnings = append(warnings, at.costs[j].problem(problem))
		}
		if problem := r.Costs[j].mayNever(&r.Limits[j]); problem != "" {
			warnings = append(warnings, at.costs[j].problem(problem))
		}
	}
	if other := s.sharesInVain(i); other != nil {
		warnings = append(warnings, at.counter.problem(fmt.Sprintf(
			"rule %s has this counter too, but its limits differ in name, algorithm, window or slots, so the two share nothing: "+
				"write the same limits in both, whatever their capacities", other.Name)))
	}
	return warnings
}

// warnBeside returns the warnings about rule i that other rules give cause for. Where there are more patterns than are
// compared, that is said instead: a warning would be a guess.
func (d *decoder) warnBeside(s *Set, near *overlap, i int) (warnings Errors) {
	r := s.Rules[i]
	at := d.at[r]
	if kept := r.keeps(); kept != "" && r.Mode == Enforce { // a rule on trial is charged when nothing denies any more
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
	most := max(min(cost, l.Burst), int64(LongestHold/l.Interval()))
	if l.Burst <= most {
		return ""
	}
	return fmt.Sprintf("the queue takes %s to drain, and the local gateway holds a request for %s at most: write queue: %d",
		formatDuration(l.Drain().Round(time.Millisecond)), formatDuration(LongestHold), most)
}

// believes says of a cost that the client states, and that nobody corrects, what a lie is worth.
func (c *Cost) believes() (problem string) {
	if !c.from.source.isClient() || c.Settle {
		return ""
	}
	return fmt.Sprintf("%s is the client's own word, so a client that lies pays min, %d: write settle: true and have the backend tell the true cost",
		c.from.spell(), c.min)
}

// mayNever says of a cost that requests state that the limit can never allow one that states none.
func (c *Cost) mayNever(l *limit.Limit) (problem string) {
	if c.from.source == literal || c.Clamp || c.max <= l.Most() {
		return ""
	}
	return fmt.Sprintf("a request that does not state its cost takes max, %d, above the %s %d, and is never allowed: "+
		"lower max, or write over: clamp in the limit", c.max, holder(l.Algorithm), l.Most())
}

// sharesInVain returns a rule above rule i with the same counter and limits of another shape; nil if there is none.
func (s *Set) sharesInVain(i int) *Rule {
	r := s.Rules[i]
	for _, other := range s.Rules[:i] {
		if other.prefix == r.prefix && other.suffix != r.suffix && other.Mode != Off {
			return other
		}
	}
	return nil
}

// hasBackstop reports whether another rule limits the same requests by what the gateway says of them: a client that makes
// up a new value for every request is never limited by what it says. Only a rule for every request, or one for requests
// that are described in the same words, is sure to.
func (s *Set) hasBackstop(r *Rule) bool {
	for _, other := range s.Rules {
		if len(other.template.client) == 0 && other.Mode == Enforce && other.counts() && other.coversAllOf(r) {
			return true
		}
	}
	return false
}

func (r *Rule) coversAllOf(other *Rule) bool {
	if r.unless != nil && (other.unless == nil || !r.unless.sameAs(other.unless)) {
		return false
	}
	return r.when.everything() || r.when.sameAs(&other.when)
}

// counts reports whether every request takes something from the rule's limits.
func (r *Rule) counts() bool {
	for i := range r.Costs {
		if r.Costs[i].least() > 0 {
			return true
		}
	}
	return false
}

// keeps returns the name of an algorithm that the rule takes units by and cannot give back; empty if there is none.
func (r *Rule) keeps() string {
	for i := range r.Limits {
		if l := &r.Limits[i]; r.Costs[i].most() > 0 && !l.Correctable() {
			return l.Algorithm.String()
		}
	}
	return ""
}

// denies reports whether the rule may deny a request.
func (r *Rule) denies() bool {
	for i := range r.Costs {
		if r.Costs[i].most() > 0 {
			return r.Mode == Enforce
		}
	}
	return false
}

// deniesAfter returns a rule that may deny a request once rule i has charged it.
func (s *Set) deniesAfter(near *overlap, i int) *Rule {
	r, place := s.Rules[i], s.place(near, i)
	for j, other := range s.Rules[place:] {
		if j+place != i && !(r.Atomic && other.Atomic) && other.denies() && near.rules(r, other) {
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
		if other.Atomic && other.Mode == Enforce && near.rules(s.Rules[i], other) {
			return j
		}
	}
	return i
}

// hasPartner reports whether another atomic rule may be charged together with this one.
func (s *Set) hasPartner(near *overlap, r *Rule) bool {
	for _, other := range s.Rules {
		if other != r && other.Atomic && other.Mode == Enforce && near.rules(r, other) {
			return true
		}
	}
	return false
}
