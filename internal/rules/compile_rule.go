package rules

import (
	"slices"
	"strconv"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func (c *compiler) rules() {
	taken := map[string]string{}
	for i := range c.doc.Rules {
		c.set.Rules = append(c.set.Rules, c.rule(ruledoc.Index("rules", i), &c.doc.Rules[i], taken))
	}
	c.checkCounters()
}

func (c *compiler) rule(path string, d *ruledoc.Rule, taken map[string]string) *Rule {
	r := &Rule{
		Name: d.Name, Key: d.Key, Atomic: d.Atomic, Lease: d.Lease, Quiet: d.Headers == "off", prefix: d.Name + "|", cost: Fixed(1),
		plans:   map[string]*Terms{},
		OnError: OnError(indexOf(failures, d.OnError)), Mode: Mode(indexOf(modes, d.Mode)),
	}
	if c.name(path+".name", d.Name, ruleName, taken); c.wrong[path+".name"] {
		r.Name = "" // which no message suggests
	}
	if meaning, ok := ruledoc.ReservedNames[d.Name]; ok {
		c.fail(path+".name", "%q stands for %s: write another name", d.Name, meaning)
	}
	if d.When != nil {
		r.when = c.selector(path+".when", d.When, "is empty: remove it to match every request")
	}
	if d.Unless != nil {
		unless := c.selector(path+".unless", d.Unless, "is empty and would leave out every request: write which ones")
		r.unless = &unless
	}
	c.keys(path, d, r)
	if d.Counter != "" {
		c.name(path+".counter", d.Counter, ruleName, nil)
		r.prefix = d.Counter + "|"
	}
	c.ruleLimits(path, d, r)
	r.refunds = c.statuses(path+".refund_on", d.RefundOn)
	if r.Mode == Shadow && r.Atomic {
		c.fail(path+".atomic", "a rule in shadow is evaluated alone, after all others have allowed: remove atomic, or write mode: enforce")
	}
	c.lease(path+".lease", r)
	return r
}

// lease checks a rule whose charges are made ahead.
func (c *compiler) lease(path string, r *Rule) {
	switch {
	case r.Lease == 0:
	case r.Atomic:
		c.fail(path, "the charges of an atomic rule are made together with those of others, never ahead: remove lease, or remove atomic")
	default:
		for i := range r.Limits {
			if l := &r.Limits[i]; !l.Correctable() {
				c.fail(path, "a %s has no slots that a lease could end with: remove lease, or write algorithm: %s", l.Algorithm, limit.SlidingWindow)
				return
			}
		}
	}
}

// keys compiles the key templates of the rule and of its overrides.
func (c *compiler) keys(path string, d *ruledoc.Rule, r *Rule) {
	r.template = c.template(path+".key", d.Key)
	r.template.Hash = c.hashed(path, d.Hash)
	switch o := d.Overrides; {
	case o == nil:
	case o.Template != "":
		t := c.template(path+".overrides", o.Template)
		t.Hash = r.template.Hash
		r.overridable = &t
	case o.OwnKey:
		r.overridable = &r.template
	}
	for i, text := range d.Trusted {
		p, problem := key.ParseSource(text)
		switch {
		case problem != "":
		case !p.Kind.IsClient():
			problem = text + " is trusted as it is: remove it"
		case !r.template.Has(p) && !r.overridable.Has(p):
			problem = p.String() + " is no part of the key, " + r.Key + ": remove it"
		}
		if c.check(ruledoc.Index(path+".trusted", i), problem) {
			c.trusted[r] = append(c.trusted[r], p)
		}
	}
	r.restrictOnly = r.overridable != nil && len(c.untrusted(r, r.overridable)) > 0
}

// untrusted returns the sources of a template that the client fills in, and of
// which the rule does not say that the backend verifies them.
func (c *compiler) untrusted(r *Rule, t *key.Template) (parts []key.Part) {
	for _, p := range t.Parts {
		if p.Kind.IsClient() && !slices.Contains(c.trusted[r], p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// template compiles a key template; Check reports one that is missing.
func (c *compiler) template(path, text string) key.Template {
	if text == "" {
		return key.Template{}
	}
	t, problems := key.Parse(text)
	for _, p := range t.Parts {
		if problem := c.viewerProblem(p); problem != "" {
			problems = append(problems, problem)
		}
	}
	for _, p := range problems {
		c.fail(path, "%s", p)
	}
	return t
}

// ruleLimits compiles the limits and their costs, in the order of their names.
func (c *compiler) ruleLimits(path string, d *ruledoc.Rule, r *Rule) {
	in := limitContext{costPath: path + ".cost"}
	if d.Cost != nil {
		if in.cost = c.cost(in.costPath, d.Cost); in.cost != nil {
			r.cost = *in.cost
		}
	}
	switch {
	case d.Limit == nil && d.Limits == nil:
		c.fail(path+".limits", "a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]")
	case d.Limit != nil && d.Limits != nil:
		c.fail(path+".limit", "stands beside limits: write all of them in limits, or remove one of the two")
	}
	charges := c.limits(d.EachLimit(path), in)
	for i, charge := range charges {
		r.Limits, r.Costs = append(r.Limits, charge.limit), append(r.Costs, charge.cost)
		if charge.anchored.Kind != key.Literal && charge.limit.Calendar != nil {
			r.anchors = append(r.anchors, anchor{i, charge.anchored, charge.limit.Calendar.Anchor})
		}
		if charge.candidate != (Candidate{}) && r.Candidates == nil {
			r.Candidates = make([]Candidate, len(charges))
		}
		if r.Candidates != nil {
			r.Candidates[i] = charge.candidate
		}
		if l := &r.Limits[i]; d.RefundOn != nil && !l.Correctable() {
			c.fail(path+".refund_on", "%s is a %s, which cannot refund: remove refund_on, or write algorithm: %s there",
				charge.path, l.Algorithm, limit.SlidingWindow)
		}
	}
}

var statusClass = ruledoc.Regexp(`^[1-5]xx$`)

func (c *compiler) statuses(path string, texts []string) (all []Statuses) {
	for i, text := range texts {
		first, others := text, 0
		if statusClass().MatchString(text) {
			first, others = text[:1]+"00", 99
		}
		code, err := strconv.ParseUint(first, 10, 30)
		switch {
		case err != nil:
			c.fail(ruledoc.Index(path, i), "%q is no status: write a number such as 404, or a class such as 5xx", text)
		case code < 100 || code > 599:
			c.fail(ruledoc.Index(path, i), "%s is out of range: write a number from 100 to 599", text)
		default:
			all = append(all, Statuses{int(code), int(code) + others})
		}
	}
	return all
}

// checkCounters checks which rules share counters: only those that say so.
func (c *compiler) checkCounters() {
	sharing := map[string][]*Rule{} // by the name of the counter, the rules so far that state it
	for i, r := range c.set.Rules {
		name, path := c.doc.Rules[i].Counter, ruledoc.Index("rules", i)
		if name == "" || c.wrong[path] {
			continue
		}
		path += ".counter"
		owner := slices.IndexFunc(c.set.Rules, func(r *Rule) bool { return r.Name == name })
		if owner >= 0 && c.doc.Rules[owner].Counter != name {
			c.fail(path, "%q is the name of rules[%d], which does not share its counters: write counter: %[1]s there too, or another name", name, owner)
		}
		for _, other := range sharing[name] {
			if problem := c.whyNotShare(r, other); problem != "" {
				c.fail(path, "rule %s has this counter too, and %s", other.Name, problem)
				break
			}
		}
		sharing[name] = append(sharing[name], r)
	}
}

// whyNotShare says why two rules cannot share counters. A client could take
// from the counters of the other rule's callers by a source that it fills in
// for one of the two alone.
func (c *compiler) whyNotShare(r, other *Rule) (problem string) {
	switch {
	case r.Mode == Off || other.Mode == Off:
		return ""
	case r.Atomic && other.Atomic:
		return "two atomic rules cannot be charged together on one: remove atomic from one of them, or write another counter"
	case r.Hashed() != other.Hashed():
		return "only one of the two hashes its keys, so they would share nothing: write hash: true in both"
	case r.Mode != other.Mode:
		return "what the one in shadow takes would be missing in the other: write another counter while it is in shadow"
	}
	for _, pair := range [][2]*Rule{{r, other}, {other, r}} {
		of, others := pair[0], c.untrusted(pair[1], &pair[1].template)
		for _, p := range c.untrusted(of, &of.template) {
			if !slices.Contains(others, p) {
				return "{" + p.String() + "} in the key of " + of.Name + " is set by the client, which could use up the counters of others: " +
					"count by the same sources in both, or write another counter"
			}
		}
	}
	return ""
}
