package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/limit"
)

// planName is wide enough for what billing systems call their plans.
var planName = regexp.MustCompile(`^[!-~]([ -~]{0,61}[!-~])?$`)

const unlimited = "unlimited"

// namedCapacities are capacities by the names of limits.
var namedCapacities = namesTo(number(1, limit.MaxCapacity), limitName, "{requests: 60, tokens: 90000}")

var plansForm = namesTo(namesTo(either(number(1, limit.MaxCapacity), oneOf([]string{unlimited}), namedCapacities), ruleName, "{api: 6000}"),
	planName, "{pro: {api: 6000}}")

func (d *decoder) planFields(p *planSource, hash *value) []field {
	return []field{
		{name: "from", doc: "The claim that names the caller's plan, such as jwt.plan.",
			form: text("jwt.plan"), decode: func(v value) {
				if text, ok := d.text(v); ok {
					p.from, _ = d.trustedSource(v, text)
				}
			}},
		{name: "overrides", doc: "The template of the keys by which single callers have another plan, or none at all.",
			form: text("user:{jwt.sub}"), decode: func(v value) { p.overrides = d.planKey(v) }},
		{name: "hash", doc: "true: a hash of these keys stands in tables and logs, in the place of the keys.", at: hash,
			form: trueOrFalse(), decode: func(v value) {
				if h := d.hashed(v); p.overrides != nil {
					p.overrides.hash = h
				}
			}},
	}
}

func (d *decoder) plan(v value, p *planSource) {
	var hash value
	switch ok := d.object(v, d.planFields(p, &hash)); {
	case ok && v.isEmptyMap():
		d.fail(v, "is empty: write from: jwt.plan, or remove it")
	case hash.stated() && p.overrides == nil:
		d.fail(hash, "is about the keys of overrides, and there are none: write overrides: \"user:{jwt.sub}\", or remove it")
	}
}

// planKey returns a template without sources of the client: an override of a plan may loosen every rule.
func (d *decoder) planKey(v value) *template {
	_, t := d.key(v)
	if len(t.client) > 0 {
		d.fail(v, "the client fills in %s, and could take another's plan: use sources such as {jwt.sub} or {apikey}",
			enumerate(t.client, "and"))
	}
	return &t
}

// plans decodes what plans make of rules.
func (d *decoder) plans(v value, s *Set) {
	for _, plan := range d.entries(v) {
		if !planName.MatchString(plan.name) {
			d.fail(plan.key, "%q cannot be a plan: use 1 to 63 printable ASCII characters, no blank at either end", plan.name)
		}
		s.plans = append(s.plans, plan.name)
		for _, e := range d.entries(plan.value) {
			r, ok := s.Rule(e.name)
			p := d.planned(e.value, r)
			if !ok {
				d.fail(e.key, "%s", s.noRule(e.name))
				continue
			}
			if r.plans == nil {
				r.plans = map[string]*planned{}
			}
			r.plans[plan.name] = p
		}
	}
}

func (s *Set) noRule(name string) (problem string) {
	var known []string
	for _, r := range s.Rules {
		if r.Name != "" { // else it is one of the things that are wrong
			known = append(known, r.Name)
		}
	}
	meant := closest(name, known)
	switch {
	case len(known) == 0:
		return fmt.Sprintf("there is no rule %q, nor any other", name)
	case meant != "":
		return fmt.Sprintf("there is no rule %q: did you mean %s?", name, meant)
	}
	return fmt.Sprintf("there is no rule %q: the rules are %s", name, list(known))
}

// planned decodes what a plan makes of a rule; nil for one that cannot be judged.
func (d *decoder) planned(v value, r *Rule) *planned {
	var all []capacity
	n, isText := v.node.(*ast.StringNode)
	if isText = isText && strings.Trim(n.Value, "0123456789") != ""; isText { // digits in quotes are a number gone wrong
		d.choice(v)
	} else {
		all = d.capacities(v)
	}
	if r == nil || d.at[r].broken {
		return nil
	}
	p := &planned{slices.Clone(r.Limits), isText}
	for _, c := range all {
		i, l, problem := r.adjusted(c.limit, c.units)
		if problem != "" {
			d.fail(c.at, "%s", problem)
			continue
		}
		p.limits[i] = l
	}
	return p
}

// capacity is one that a document gives to a limit; "" is a rule's only limit.
type capacity struct {
	limit string
	units int64
	at    value
}

// capacities decodes a capacity, or several by the names of limits.
func (d *decoder) capacities(v value) (all []capacity) {
	if !v.isMap() {
		if n, ok := d.integer(v); ok {
			all = append(all, capacity{"", n, v})
		}
		return all
	}
	entries := d.entries(v)
	if len(entries) == 0 {
		d.fail(v, "is empty: write a capacity, such as {requests: 60}")
	}
	for _, e := range entries {
		if n, ok := e.value.node.(*ast.StringNode); ok && n.Value == unlimited {
			d.fail(e.value, "one limit of a rule cannot be unlimited by itself: write a capacity that nobody reaches")
			continue
		}
		if n, ok := d.integer(e.value); ok {
			all = append(all, capacity{e.name, n, e.value})
		}
	}
	return all
}

// adjusted returns a limit of the rule with another capacity, and what a bucket holds with it where that follows the
// capacity. The problem says why there can be no such limit, and what to write instead.
func (r *Rule) adjusted(name string, units int64) (i int, l limit.Limit, problem string) {
	if i = limitNamed(r.Limits, name); i < 0 {
		return i, l, r.noLimit(r.Limits, name)
	}
	l = withCapacity(r.Limits[i], units)
	for _, check := range []func(*limit.Limit) string{tooManyStamps, tooFast, tooSlow} {
		if problem = check(&l); problem != "" {
			return i, l, problem
		}
	}
	return i, l, r.Costs[i].tooHigh(&l)
}

// noLimit says what to write for a limit that is not among those of the rule, or of one of its overrides.
func (r *Rule) noLimit(limits []limit.Limit, name string) (problem string) {
	var known []string
	for i := range limits {
		known = append(known, limits[i].Name)
	}
	switch {
	case name == "":
		return fmt.Sprintf("rule %s has several limits: write a capacity for each by name, such as {%s: %d}", r.Name, known[0], limits[0].Capacity)
	case len(known) == 1 && known[0] == "":
		return fmt.Sprintf("rule %s has one limit, without a name: write the capacity alone", r.Name)
	}
	return fmt.Sprintf("rule %s has no limit %q: %s", r.Name, name, instead(name, known, "there are", "and"))
}

// tooHigh says of a fixed cost, or the least that a request may state, that the limit could never allow it.
func (c *Cost) tooHigh(l *limit.Limit) (problem string) {
	if !c.unpayable(l.Most()) {
		return ""
	}
	return fmt.Sprintf("a request costs %d here, above the %s %d, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit",
		c.least(), holder(l.Algorithm), l.Most())
}
