package rules

import (
	"slices"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

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
