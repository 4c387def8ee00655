package rules

import (
	"errors"
	"fmt"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// ErrNoRule is wrapped by the error about a rule that the document does not have.
var ErrNoRule = errors.New("there is no rule")

// CheckOverride returns everything that is wrong with an override of this key
// of a rule, or of PlanOverrides; nil if it fits. The key is one that
// OverrideKey returned, or that a table has.
func (s *Set) CheckOverride(rule, key string, o *Override) error {
	about, err := s.overrideTarget(rule)
	if err != nil {
		return err
	}
	all := []error{about.check(key)}
	for _, p := range about.checkFields(o) {
		all = append(all, errors.New(p.String()))
	}
	return errors.Join(all...)
}

// OverrideKey returns the key by which requests find the overrides of a rule,
// or of PlanOverrides, from one that a person typed: with plain values, such as
// user:auth0|666, or as replays and logs print it, such as user:auth0%7C666.
// The error is ErrHashSecret if the key must be hashed and cannot be.
func (s *Set) OverrideKey(rule, text string) (key string, err error) {
	about, err := s.overrideTarget(rule)
	if err != nil {
		return "", err
	}
	if key, err = about.read(text); err != nil {
		return "", err
	}
	if key, err = about.keys.Stored(key); err != nil {
		return "", fmt.Errorf("overrides of %s: %w", about.name, err)
	}
	return key, nil
}

// Keys are the keys of one caller's counter and overrides.
type Keys struct {
	Counter  string
	Override OverrideKey // of the rule
	Plan     OverrideKey // of the caller's plan
	Exact    bool        // the text was the key itself, not one with plain values
}

// OverrideKey is the key of an override; the zero value if there are no
// overrides.
type OverrideKey struct {
	Key string // empty if it is not known
	// Missing are sources of the key, such as "jwt.tenant", that neither the
	// counter's key nor the request has.
	Missing []string
}

// ResolveKeys returns the keys that belong to one of a rule's own keys, as a
// person types it: with plain values, such as user:auth0|666, or as replays and
// logs print it, such as user:auth0%7C666. req has the caller's other values.
// The error is ErrHashSecret if a key must be hashed and cannot be.
func (s *Set) ResolveKeys(r *Rule, text string, req *request.Request) (keys Keys, err error) {
	whole, err := r.template.Read(text)
	if err != nil {
		err = instead(err, &r.template, text)
		return Keys{}, fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.template.String(), err)
	}
	keys.Exact = whole == text
	if keys.Counter, err = r.template.Stored(whole); err == nil && r.overridable != nil {
		keys.Override.Key, keys.Override.Missing, err = r.overridable.Translate(whole, &r.template, req)
	}
	if err != nil {
		return Keys{}, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	if s.plan.overrides != nil {
		keys.Plan.Key, keys.Plan.Missing, err = s.plan.overrides.Translate(whole, &r.template, req)
	}
	if err != nil {
		return Keys{}, fmt.Errorf("overrides of plan: %w", err)
	}
	return keys, nil
}

// overrideTarget is a rule or the plans of callers, as subjects of overrides.
type overrideTarget struct {
	name string        // in messages
	keys *key.Template // nil if overrides cannot be checked
	// checkFields returns what is wrong with an override, by its fields.
	checkFields func(o *Override) faults
}

// overrideTarget finds the target of overrides from outside the document, which
// a rule must allow. The error says why there can be none.
func (s *Set) overrideTarget(rule string) (about overrideTarget, err error) {
	r, ok := s.Rule(rule)
	switch {
	case rule == PlanOverrides && s.plan.overrides == nil:
		return about, errors.New("the plans of callers have no overrides: write plan: {overrides: \"user:{jwt.sub}\"}")
	case rule == PlanOverrides:
		return overrideTarget{rule, s.plan.overrides, s.checkPlanOverride}, nil
	case !ok:
		return about, fmt.Errorf("%w %q: %s", ErrNoRule, rule, s.noRule(rule).Args[1])
	case !r.TakesOverrides():
		return about, fmt.Errorf("rule %s does not say that it has overrides: write overrides: true in the rule, and publish it: "+
			"limiters have it within ten seconds, and its counters stay", rule)
	}
	return r.overrideTarget(), nil
}

// overrideTarget returns the rule as a subject of overrides.
func (r *Rule) overrideTarget() overrideTarget {
	return overrideTarget{"rule " + r.Name, r.overridable, r.checkOverride}
}

// read returns a key before it is hashed.
func (about *overrideTarget) read(text string) (key string, err error) {
	if key, err = about.keys.Read(text); err != nil {
		err = instead(err, about.keys, text)
		return "", fmt.Errorf("%q is no key of the overrides of %s, which look like %s: %w", text, about.name, about.keys.String(), err)
	}
	return key, nil
}

// instead replaces the error about a text that lacks only what all keys of the
// template begin or end with.
func instead(err error, t *key.Template, text string) error {
	if whole := t.Complete(text); whole != "" {
		return errors.New("write " + whole)
	}
	return err
}

// check reports why no request looks up a key.
func (about *overrideTarget) check(text string) error {
	made, err := about.read(text)
	switch {
	case err != nil:
		return err
	case about.keys.Hash != nil && !key.IsHashed(text):
		return fmt.Errorf("%q is not hashed, and overrides of %s are found by hashes alone", text, about.name)
	case made != text:
		return fmt.Errorf("%q is not a key of the overrides of %s as requests make it: write %s", text, about.name, made)
	}
	return nil
}

// faults are what is wrong with the fields of an override.
type faults []problem.Problem

// add adds a fault, if there is one.
func (all *faults) add(path problem.Path, wrong problem.Fault) {
	if wrong.Found() {
		*all = append(*all, problem.Problem{Path: path, Fault: wrong})
	}
}

// checkPlanOverride returns what is wrong with an override of a caller's plan. It
// may name a plan that the document has, or deny; nothing else applies to all
// rules.
func (s *Set) checkPlanOverride(o *Override) (all faults) {
	for _, f := range o.fields() {
		if f != "plan" && f != "deny" {
			all.add(problem.Root(f), problem.New(problem.Instead, "is for the keys of one rule", "plan or deny among the overrides of plan"))
		}
	}
	all.add(problem.Root("plan"), s.planFault(o.Plan))
	return all
}

// fields returns the names of the fields that the override states.
func (o *Override) fields() (names []string) {
	for _, f := range []struct {
		name string
		says bool
	}{
		{"capacity", o.Capacity != nil}, {"limits", o.Limits != nil}, {"unlimited", o.Unlimited}, {"plan", o.Plan != ""},
		{"deny", o.Deny}, {"grants", len(o.Grants) > 0},
	} {
		if f.says {
			names = append(names, f.name)
		}
	}
	return names
}

// checkOverride returns what is wrong with an override for the rule as it is now.
// The rule may change later: Terms then ignores what no longer fits, and says that
// the override is stale.
func (r *Rule) checkOverride(o *Override) (all faults) {
	for _, f := range o.fields() {
		switch {
		case f == "plan":
			all.add(problem.Root(f), problem.New(problem.Instead, "is for all rules together", "it among the overrides of plan"))
		case r.restrictOnly && (f == "limits" || f == "unlimited" || f == "grants"):
			all.add(problem.Root(f), r.restricted("may loosen the rule"))
		}
	}
	for _, name := range sortedKeys(o.Capacity) {
		i, l, wrong := r.adjusted(name, o.Capacity[name])
		if !wrong.Found() && r.restrictOnly && l.Capacity > r.highest(i) {
			wrong = r.restricted(fmt.Sprintf("%d is above the rule's %d", l.Capacity, r.highest(i)))
		}
		all.add(capacityPath(problem.Root("capacity"), name), wrong)
	}
	limits := r.Limits
	if o.Limits != nil {
		limits = o.Limits
	}
	for i := range o.Limits {
		all.add(problem.Root("limits"), r.limitFault(&o.Limits[i], &o.Costs[i]))
	}
	for _, g := range o.Grants {
		if limitNamed(limits, g.Limit) < 0 {
			all.add(problem.Root("grants"), r.noLimit(limits, g.Limit))
		}
	}
	return all
}
