package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// longestWhy bounds the reason of an override, in bytes: decisions and logs
// carry it.
const longestWhy = 500

// override compiles one override. It checks what holds for all rules; the rule
// whose limits it replaces decides whether it fits (see overrideTarget).
func (c *compiler) override(path problem.Path, d *ruledoc.Override) *Override {
	o := &Override{
		Deny: d.Deny, Unlimited: d.Unlimited, Plan: d.Plan, Capacity: maps.Clone(map[string]int64(d.Capacity)), Until: d.Until, Why: d.Why,
	}
	if d.Limits != nil {
		o.Limits = []limit.Limit{}
		for _, ch := range c.limits(ruledoc.EachLimit(path.To("limits"), d.Limits), limitContext{override: true}) {
			o.Limits, o.Costs = append(o.Limits, ch.limit), append(o.Costs, ch.cost)
		}
		o.suffix = suffix(o.Limits)
	}
	says := o.fields()
	if len(says) == 0 {
		c.fail(path, problem.Instead, "says nothing", "capacity, limits, unlimited, plan or deny")
	} else if len(says) > 1 {
		c.fail(path, problem.Remove, "says "+ruledoc.Enumerate(says, "and")+", and an override says one thing", "all but one")
	}
	if year := d.Until.UTC().Year(); year < 0 || year > 9999 { // which JSON cannot hold
		c.fail(path.To("until"), problem.Instead, fmt.Sprintf("is in the year %d in UTC", year), "a time in the years 0 to 9999, or none")
	}
	if len(d.Why) > longestWhy {
		c.fail(path.To("why"), problem.TooLong, len(d.Why), longestWhy)
	}
	return o
}

// overrides compiles the document's overrides.
func (c *compiler) overrides() {
	c.set.overrides = map[string]map[string]*Override{}
	for _, name := range sortedKeys(c.doc.Overrides) {
		path := problem.Root("overrides").To(name)
		c.set.overrides[name] = c.overridesOf(path, c.doc.Overrides[name], c.target(path, name))
	}
}

// target returns the target of a rule's overrides, or of PlanOverrides; an empty
// one if they cannot be checked. If a rule has overrides in the document and does
// not state their keys, they are the rule's own.
func (c *compiler) target(path problem.Path, name string) overrideTarget {
	r, ok := c.set.Rule(name)
	switch {
	case !ok:
		about, err := c.set.overrideTarget(name)
		if err != nil {
			c.failKey(path, problem.Refused, err)
		}
		return about
	case c.ruleIsWrong(r):
		return overrideTarget{}
	case r.overridable != nil || len(c.doc.Overrides[name]) == 0:
	case c.doc.Rule(name).Overrides != nil:
		c.failKey(path, problem.Remove, "rule "+r.Name+" says overrides: false, and here are some", "one or the other")
		return overrideTarget{}
	default:
		r.overridable, r.documentOnly = &r.template, true
		r.restrictOnly = len(c.untrusted(r, r.overridable)) > 0
	}
	return r.overrideTarget()
}

// overridesOf compiles the overrides of one rule, by their keys as requests
// make them, before those are hashed.
func (c *compiler) overridesOf(path problem.Path, overrides map[string]ruledoc.Override, about overrideTarget) map[string]*Override {
	all := make(map[string]*Override, len(overrides))
	written := make(map[string]string, len(overrides))
	for _, text := range sortedKeys(overrides) {
		at := path.To(text)
		d := overrides[text]
		o := c.override(at, &d)
		if about.keys == nil {
			continue
		}
		if !c.isWrong(at) {
			for _, p := range about.checkFields(o) {
				p.Path = append(at[:len(at):len(at)], p.Path...)
				c.report(p)
			}
		}
		key, err := about.read(text)
		if err != nil {
			c.failKey(at, problem.Refused, err)
			continue
		}
		if other, ok := written[key]; ok {
			c.failKey(at, problem.Remove, fmt.Sprintf("%s is the key of %q too, written otherwise", key, other), "one of them")
			continue
		}
		all[key], written[key] = o, text
	}
	return all
}

// planName is wide enough for the names of plans in billing systems.
var planName = ruledoc.Pattern(ruledoc.Override{}, "plan")

// plan compiles how the plan of a caller is found. Its source must be one that
// the client cannot choose, because a plan may lift limits.
func (c *compiler) plan(d *ruledoc.PlanSource) {
	if d == nil {
		return
	}
	p, path := &c.set.plan, problem.Root("plan")
	if *d == (ruledoc.PlanSource{}) {
		c.fail(path, problem.Empty, "from: jwt.plan, or remove it")
	}
	if d.From != "" {
		var wrong problem.Fault
		p.from, wrong = key.ParseTrusted(d.From)
		c.check(path.To("from"), wrong)
	}
	if d.Overrides != "" {
		t := c.template(path.To("overrides"), d.Overrides)
		t.Hash = c.hashed(path, d.Hash)
		if len(t.ClientSources) > 0 { // an override of a plan may loosen every rule
			c.fail(path.To("overrides"), problem.PlanOfAnyone, ruledoc.Enumerate(t.ClientSources, "and"))
		}
		p.overrides = &t
	} else if d.Hash {
		c.fail(path.To("hash"), problem.Instead, "is about the keys of overrides, and there are none", `overrides: "user:{jwt.sub}", or remove it`)
	}
}

// plans compiles the capacities of plans.
func (c *compiler) plans() {
	c.set.plans = sortedKeys(c.doc.Plans)
	for _, plan := range c.set.plans {
		path := problem.Root("plans").To(plan)
		if !planName().MatchString(plan) {
			c.failKey(path, problem.BadName, plan, "plan", "1 to 63 printable ASCII characters, no blank at either end")
		}
		for _, name := range sortedKeys(c.doc.Plans[plan]) {
			at := path.To(name)
			r, ok := c.set.Rule(name)
			if !ok {
				c.report(problem.Problem{Path: at, AtKey: true, Fault: c.set.noRule(name)})
			} else if !c.ruleIsWrong(r) {
				r.plans[plan] = c.planned(at, c.doc.Plans[plan][name], r)
			}
		}
	}
}

// ruleIsWrong reports whether a rule has problems. Nothing that depends on such a
// rule is checked.
func (c *compiler) ruleIsWrong(r *Rule) bool {
	return c.isWrong(problem.Root("rules").At(slices.Index(c.set.Rules, r)))
}

// planned compiles the limits of a rule on a plan: the rule's own, with the
// plan's capacities. They share their counters with the rule's, so a caller who
// changes plans keeps what is used.
func (c *compiler) planned(path problem.Path, d ruledoc.PlanCapacity, r *Rule) *Terms {
	p := &Terms{Limits: slices.Clone(r.Limits), Unlimited: d.Unlimited}
	for _, name := range sortedKeys(d.Capacity) {
		at := capacityPath(path, name)
		if c.isWrong(at) {
			continue
		}
		if i, l, wrong := r.adjusted(name, d.Capacity[name]); c.check(at, wrong) {
			p.Limits[i] = l
		}
	}
	return p
}
