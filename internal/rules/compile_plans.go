package rules

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// planName is wide enough for the names of plans in billing systems.
var planName = ruledoc.Pattern(ruledoc.Override{}, "plan")

// plan compiles how the plan of a caller is found.
func (c *compiler) plan(d *ruledoc.PlanSource) {
	if d == nil {
		return
	}
	p := &c.set.plan
	if *d == (ruledoc.PlanSource{}) {
		c.fail("plan", "is empty: write from: jwt.plan, or remove it")
	}
	if d.From != "" {
		var problem string
		p.from, problem = key.ParseTrusted(d.From)
		c.check("plan.from", problem)
	}
	if d.Overrides != "" {
		t := c.template("plan.overrides", d.Overrides)
		t.Hash = c.hashed("plan", d.Hash)
		if len(t.ClientSources) > 0 { // an override of a plan may loosen every rule
			c.fail("plan.overrides", "the client sets %s, and could take another's plan: use sources such as {jwt.sub} or {apikey}",
				ruledoc.Enumerate(t.ClientSources, "and"))
		}
		p.overrides = &t
	} else if d.Hash {
		c.fail("plan.hash", "is about the keys of overrides, and there are none: write overrides: \"user:{jwt.sub}\", or remove it")
	}
}

// plans compiles the capacities of plans.
func (c *compiler) plans() {
	c.set.plans = sortedKeys(c.doc.Plans)
	for _, plan := range c.set.plans {
		path := ruledoc.Join("plans", plan)
		if !planName().MatchString(plan) {
			c.failKey(path, "%q cannot be a plan: use 1 to 63 printable ASCII characters, no blank at either end", plan)
		}
		for _, name := range sortedKeys(c.doc.Plans[plan]) {
			at := ruledoc.Join(path, name)
			r, ok := c.set.Rule(name)
			if !ok {
				c.failKey(at, "%s", c.set.noRule(name))
			} else if !c.ruleIsWrong(r) {
				r.plans[plan] = c.planned(at, c.doc.Plans[plan][name], r)
			}
		}
	}
}

// ruleIsWrong reports whether a rule has problems. Nothing that depends on such a
// rule is checked.
func (c *compiler) ruleIsWrong(r *Rule) bool {
	return c.wrong[ruledoc.Index("rules", slices.Index(c.set.Rules, r))]
}

// planned compiles the limits of a rule on a plan.
func (c *compiler) planned(path string, d ruledoc.PlanCapacity, r *Rule) *Terms {
	p := &Terms{Limits: slices.Clone(r.Limits), Unlimited: d.Unlimited}
	for _, name := range sortedKeys(d.Capacity) {
		at := capacityPath(path, name)
		if c.wrong[at] {
			continue
		}
		if i, l, problem := r.adjusted(name, d.Capacity[name]); c.check(at, problem) {
			p.Limits[i] = l
		}
	}
	return p
}

// capacityPath returns the path of a limit's capacity; "" names a rule's only limit.
func capacityPath(path, limit string) string {
	if limit == "" {
		return path
	}
	return ruledoc.Join(path, limit)
}

func (s *Set) noRule(name string) (problem string) {
	var known []string
	for _, r := range s.Rules {
		if r.Name != "" { // a rule without a name is a problem of its own
			known = append(known, r.Name)
		}
	}
	meant := ruledoc.Closest(name, known)
	switch {
	case len(known) == 0:
		return fmt.Sprintf("there is no rule %q, nor any other", name)
	case meant != "":
		return fmt.Sprintf("there is no rule %q: did you mean %s?", name, meant)
	}
	return fmt.Sprintf("there is no rule %q: the rules are %s", name, match.ShortList(known))
}

// adjusted returns a limit of the rule with another capacity. The burst of a
// bucket changes too if it follows the capacity. The problem says why there can
// be no such limit, and what to write instead.
func (r *Rule) adjusted(name string, units int64) (i int, l limit.Limit, problem string) {
	if i = limitNamed(r.Limits, name); i < 0 {
		return i, l, r.noLimit(r.Limits, name)
	}
	l = withCapacity(r.Limits[i], units)
	if _, problem = outOfRange(&l); problem == "" {
		problem = r.Costs[i].tooHigh(&l)
	}
	return i, l, problem
}

// noLimit says what to write in place of an unknown limit: limits are those of
// the rule or of one of its overrides.
func (r *Rule) noLimit(limits []limit.Limit, name string) (problem string) {
	var known []string
	for i := range limits {
		known = append(known, limits[i].Name)
	}
	switch {
	case name == "":
		return fmt.Sprintf("rule %s has several limits: write a capacity for each by name, such as {%s: %d}",
			r.Name, known[0], limits[0].Capacity)
	case len(known) == 1 && known[0] == "":
		return fmt.Sprintf("rule %s has one limit, without a name: write the capacity alone", r.Name)
	}
	return fmt.Sprintf("rule %s has no limit %q: %s", r.Name, name, ruledoc.Suggest(name, known, "there are", "and"))
}
