package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
)

// CheckOverride returns everything that is wrong with an override of this key of a rule, or of PlanOverrides; nil if it
// fits. The key is one that OverrideKey returned, or that a table holds.
func (s *Set) CheckOverride(rule, key string, o *Override) error {
	about, problem := s.overridden(rule)
	if problem != "" {
		return errors.New(problem)
	}
	var all []error
	if err := about.check(key); err != nil {
		all = append(all, err)
	}
	for _, m := range about.misfits(o) {
		all = append(all, fmt.Errorf("%s: %s", m.field, m.reason))
	}
	return errors.Join(all...)
}

// OverrideKey returns the key by which requests find the overrides of a rule, or of PlanOverrides, from one that a person
// typed: with values as they are, such as user:auth0|666, or as replays and logs print it, such as user:auth0%7C666. The
// error is ErrLocked where the key is to be hashed and cannot be.
func (s *Set) OverrideKey(rule, text string) (key string, err error) {
	about, problem := s.overridden(rule)
	if problem != "" {
		return "", errors.New(problem)
	}
	return about.key(text)
}

// overridden is what overrides are about: a rule, or the plans of callers.
type overridden struct {
	of      string    // for people
	keys    *template // nil where they cannot be judged
	misfits func(*Override) []misfit
}

// read returns a key as documents hold it: before it is hashed.
func (about *overridden) read(text string) (key string, err error) {
	if key, err = about.keys.read(text); err != nil {
		return "", fmt.Errorf("%q is no key of the overrides of %s, which look like %s: %w", text, about.of, about.keys.text(), err)
	}
	return key, nil
}

// check reports why no request looks up a key.
func (about *overridden) check(key string) error {
	spelled, err := about.read(key)
	switch {
	case err != nil:
		return err
	case about.keys.hash != nil && !isHashed(key):
		return fmt.Errorf("%q is not hashed, and overrides of %s are found by hashes alone", key, about.of)
	case spelled != key:
		return fmt.Errorf("%q is not how requests spell a key of the overrides of %s: %s is", key, about.of, spelled)
	}
	return nil
}

// key returns a key as requests look it up.
func (about *overridden) key(text string) (key string, err error) {
	if key, err = about.read(text); err != nil {
		return "", err
	}
	if key, err = about.keys.kept(key); err != nil {
		return "", fmt.Errorf("overrides of %s: %w", about.of, err)
	}
	return key, nil
}

// misfit is what is wrong with a field of an override.
type misfit struct{ field, reason string }

// overridden finds what the overrides of this name are about. The problem says why there can be none.
func (s *Set) overridden(rule string) (about overridden, problem string) {
	if rule == PlanOverrides {
		if s.plan.overrides == nil {
			return about, "the plans of callers have no overrides: write plan: {overrides: \"user:{jwt.sub}\"}"
		}
		return overridden{PlanOverrides, s.plan.overrides, s.planMisfits}, ""
	}
	if r, ok := s.Rule(rule); ok {
		return r.overridden()
	}
	return about, s.noRule(rule)
}

func (r *Rule) overridden() (about overridden, problem string) {
	if !r.TakesOverrides() {
		return about, fmt.Sprintf("rule %s does not say that it has overrides: write overrides: true in the rule", r.Name)
	}
	return r.written(), ""
}

// written is overridden for what the document itself says, without the rule's leave.
func (r *Rule) written() overridden {
	return overridden{"rule " + r.Name, r.overridable, r.misfits}
}

func (s *Set) planMisfits(o *Override) (all []misfit) {
	for _, f := range o.fields() {
		if f == "capacity" || f == "limits" || f == "unlimited" || f == "grants" {
			all = append(all, misfit{f, "is for the keys of one rule: among the overrides of plan, write plan or deny"})
		}
	}
	if o.Plan != "" && s.knownPlan(o.Plan) == "" {
		reason := "there are no plans: write plans: {" + o.Plan + ": {RULE: CAPACITY}}"
		if len(s.plans) > 0 {
			reason = fmt.Sprintf("there is no plan %q: %s", o.Plan, instead(o.Plan, s.plans, "there are", "and"))
		}
		all = append(all, misfit{"plan", reason})
	}
	return all
}

// fields names what the override says.
func (o *Override) fields() (names []string) {
	for _, f := range []struct {
		name string
		says bool
	}{
		{"capacity", len(o.Capacity) > 0}, {"limits", o.Limits != nil}, {"unlimited", o.Unlimited}, {"plan", o.Plan != ""},
		{"deny", o.Deny}, {"grants", len(o.Grants) > 0},
	} {
		if f.says {
			names = append(names, f.name)
		}
	}
	return names
}

func (r *Rule) misfits(o *Override) (all []misfit) {
	for _, f := range o.fields() {
		switch {
		case f == "plan":
			all = append(all, misfit{f, "is for all rules together: write it among the overrides of plan"})
		case r.lowersOnly && (f == "limits" || f == "unlimited" || f == "grants"):
			all = append(all, misfit{f, "may loosen the rule, and " + r.whyLowersOnly()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Capacity)) {
		if reason := r.capacityMisfit(name, o.Capacity[name]); reason != "" {
			all = append(all, misfit{capacityField(name), reason})
		}
	}
	for i := range o.Limits {
		if reason := r.limitMisfit(&o.Limits[i], &o.Costs[i]); reason != "" {
			all = append(all, misfit{"limits", reason})
		}
	}
	limits := r.Limits
	if o.Limits != nil {
		limits = o.Limits
	}
	for _, g := range o.Grants {
		if limitNamed(limits, g.Limit) < 0 {
			all = append(all, misfit{"grants", r.noLimit(limits, g.Limit)})
		}
	}
	return all
}

func (r *Rule) whyLowersOnly() string {
	return fmt.Sprintf("the client fills in %s of its key: write deny or a lower capacity, or, if the backend verifies it, trusted: [%s] in the rule",
		enumerate(r.overridable.client, "and"), bare.Replace(strings.Join(r.overridable.client, ", ")))
}

func (r *Rule) capacityMisfit(name string, units int64) (reason string) {
	i, _, problem := r.adjusted(name, units)
	switch {
	case problem != "":
		return problem
	case r.lowersOnly && units > r.highest(i):
		return fmt.Sprintf("%d is above the rule's %d, and %s", units, r.highest(i), r.whyLowersOnly())
	}
	return ""
}

// highest returns the highest capacity that limit i has without overrides.
func (r *Rule) highest(i int) int64 {
	most := r.Limits[i].Capacity
	for _, p := range r.plans {
		if p.unlimited {
			return limit.MaxCapacity
		}
		most = max(most, p.limits[i].Capacity)
	}
	return most
}

// limitMisfit judges what a limit of an override has from the rule.
func (r *Rule) limitMisfit(l *limit.Limit, c *Cost) (reason string) {
	cost := r.inherit(*c, l.Name)
	switch {
	case len(r.refunds) > 0 && !l.Correctable():
		return fmt.Sprintf("the rule has refund_on, and a %s cannot give back: write algorithm: %s", l.Algorithm, limit.SlidingWindow)
	case cost.Settle && !l.Correctable():
		return fmt.Sprintf("the rule's cost settles, and a %s cannot be corrected afterwards: write algorithm: %s, or a cost of its own",
			l.Algorithm, limit.SlidingWindow)
	}
	return cost.tooHigh(l)
}
