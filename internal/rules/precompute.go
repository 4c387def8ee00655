package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// precompute derives what requests need from the fields of a final set. It runs
// once, before any request, so that requests read the set without locks.
func (s *Set) precompute() {
	covered := make([]*match.Selector, len(s.Rules))
	for i, r := range s.Rules {
		r.precompute()
		if r.place, covered[i] = i, &r.when; InFlight(r.Limits) >= 0 {
			r.place += len(s.Rules)
		}
	}
	s.index = match.NewIndex(covered)
	s.deniesOperation, s.countsOperation = (&unmet{operation: true}).ofSet(s, Enforce), s.countedOperation()
	s.banned, s.skipped = match.NewLookup(s.deny), match.NewLookup(s.skip)
	if s.hash != nil {
		s.hashBy(key.RandomSecret())
	}
}

// precompute derives what no request can change.
func (r *Rule) precompute() {
	r.fixed = r.fixedCosts()
	r.own = Terms{Limits: r.Limits, own: true}
	r.own.precompute(r, suffix(r.Limits))
	for _, t := range r.plans {
		t.precompute(r, r.own.suffix)
	}
}

// precompute completes the terms of a plan, which changes capacities alone.
func (t *Terms) precompute(r *Rule, suffix string) {
	if t.suffix, t.candidates = suffix, r.Candidates; !t.Unlimited {
		t.costs, t.Costs = r.Costs, r.fixed
	}
	t.Checked = !slices.ContainsFunc(t.Limits, func(l limit.Limit) bool { return !l.Valid() })
}

// WithoutPlaces has requests take no places in flight, for replays of logs, which
// do not say when a request ended. It returns the rules with such a limit. Call it
// before the first request.
func (s *Set) WithoutPlaces() (names []string) {
	for _, r := range s.Rules {
		if i := InFlight(r.Limits); i >= 0 {
			r.Costs[i], names = Cost{}, append(names, r.Name)
			r.precompute()
		}
	}
	return names
}

// fixedCosts returns the costs if no request and no plan can change them, else
// nil. A clamped cost depends on the capacity, which plans and overrides change.
func (r *Rule) fixedCosts() []int64 {
	fixed := make([]int64, len(r.Costs))
	for i, c := range r.Costs {
		if c.from.Kind != key.Literal || c.Clamp && (len(r.plans) > 0 || r.overridable != nil) {
			return nil
		}
		fixed[i] = c.of(nil, r.Limits[i].MaxCost())
	}
	return fixed
}

// suffix returns the end of the names of counters with these limits: 8 hex
// digits that identify how the limits count, which is everything but how much
// they allow, and how long places in flight last: a second counter would admit as
// many requests again. Limits that count in another way never meet an older counter's
// state, while a changed capacity, burst or queue keeps it. Stores have the
// digits, so this text must never change.
func suffix(limits []limit.Limit) string {
	var text strings.Builder
	for i := range limits {
		l := &limits[i]
		if i > 0 {
			text.WriteByte(',')
		}
		if l.Algorithm == limit.InFlight {
			fmt.Fprintf(&text, "%s/%s", l.Name, l.Algorithm)
			continue
		}
		timezone, anchor := "", ""
		if c := l.Calendar; c != nil {
			timezone = c.Location.String()
			if c.Anchor > 1 { // months that start on the 1st state none
				anchor = strconv.Itoa(c.Anchor)
			}
		}
		fmt.Fprintf(&text, "%s/%s/%d/%d/%s/%s", l.Name, l.Algorithm, l.Window, l.Granularity, timezone, anchor)
	}
	return "|" + fmt.Sprintf("%016x", xxhash.Sum64String(text.String()))[:8]
}
