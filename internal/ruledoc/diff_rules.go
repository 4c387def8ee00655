package ruledoc

import (
	"maps"
	"slices"
)

// rules compares the rules, each with its limits and what plans make of it.
func (d *differ) rules() {
	moved := moved(d.current.Rules, d.next.Rules)
	for i := range d.next.Rules {
		r := &d.next.Rules[i]
		old := d.current.Rule(r.Name)
		if old == nil {
			reset := !d.counters[counterNames(r, nil)]
			d.add(Change{Kind: Added, Rule: r.Name, To: d.next.summary(r), CountersReset: reset})
			continue
		}
		if moved[r.Name] {
			d.add(Change{Kind: Moved, Rule: r.Name, From: d.current.place(old), To: d.next.place(r)})
		}
		d.rule(old, r)
	}
	for _, r := range d.removed() {
		d.add(Change{Kind: Removed, Rule: r.Name, From: d.current.summary(r)})
	}
}

// removed returns the rules that the next document does not have.
func (d *differ) removed() (rules []*Rule) {
	for i := range d.current.Rules {
		if r := &d.current.Rules[i]; d.next.Rule(r.Name) == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

// place says when a rule is charged.
func (d *Document) place(r *Rule) string {
	i := slices.IndexFunc(d.Rules, func(other Rule) bool { return other.Name == r.Name })
	if i < 1 {
		return "the first place"
	}
	return "after " + d.Rules[i-1].Name
}

func (d *differ) rule(old, r *Rule) {
	before := len(d.changes)
	d.fields(Change{Rule: r.Name}, d.current.ruleFacts(old), d.next.ruleFacts(r))
	for i := range r.Limits {
		l := &r.Limits[i]
		c := Change{Rule: r.Name, Limit: l.Name}
		if j := old.limit(l.Name); j >= 0 {
			d.fields(c, facts(old.Limits[j], "name"), facts(*l, "name"))
			continue
		}
		c.Kind, c.Field, c.To = Added, fieldLimits, l.summary()
		d.add(c)
	}
	for _, l := range old.Limits {
		if r.limit(l.Name) < 0 {
			d.add(Change{Kind: Removed, Rule: r.Name, Limit: l.Name, Field: fieldLimits, From: l.summary()})
		}
	}
	if len(d.changes) > before {
		names := counterNames(r, nil)
		d.add(Change{Kind: Counters, Rule: r.Name, From: counterNames(old, nil), To: names, CountersReset: !d.counters[names]})
	}
}

// limit returns the index of a limit; -1 for none.
func (r *Rule) limit(name string) int {
	return slices.IndexFunc(r.Limits, func(l Limit) bool { return l.Name == name })
}

// ruleFacts returns the fields of a rule, its limits aside, and what each plan
// makes of it.
func (d *Document) ruleFacts(r *Rule) []fact {
	all := facts(*r, "name", fieldLimits)
	for _, plan := range slices.Sorted(maps.Keys(d.Plans)) {
		if capacity, ok := d.Plans[plan][r.Name]; ok {
			all = append(all, fact{"plans." + plan, text(capacity)})
		}
	}
	return all
}

// summary writes a whole rule, but for what most rules have in common.
func (d *Document) summary(r *Rule) string {
	rest := *r
	if rest.OnError == DefaultOnError {
		rest.OnError = ""
	}
	if rest.Mode == DefaultMode {
		rest.Mode = ""
	}
	rest.Cost = hideUsual(rest.Cost)
	limits := slices.Clone(r.Limits)
	for i := range limits {
		limits[i].hideUsual()
	}
	return flow(append(d.ruleFacts(&rest), fact{fieldLimits, text(limits)}))
}

func (l Limit) summary() string {
	l.hideUsual()
	return flow(facts(l, "name"))
}

func (l *Limit) hideUsual() {
	l.hideAlgorithm()
	l.Cost = hideUsual(l.Cost)
}

func (l *Limit) hideAlgorithm() {
	if l.Algorithm == DefaultAlgorithm {
		l.Algorithm = ""
	}
}

func hideUsual(c *Cost) *Cost {
	if c != nil && *c == (Cost{Units: 1}) {
		return nil
	}
	return c
}
