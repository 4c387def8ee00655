package ruledoc

import (
	"maps"
	"slices"
)

// rules compares the rules, each with its limits and what plans make of it.
func (d *differ) rules() {
	if from, to := d.current.order(d.next), d.next.order(d.current); from != to {
		d.changes = append(d.changes, Change{Kind: Moved, Field: "rules", From: from, To: to})
	}
	for i := range d.next.Rules {
		r := &d.next.Rules[i]
		old := d.current.Rule(r.Name)
		names := counterNames(r, nil)
		if old == nil {
			d.changes = append(d.changes, Change{Kind: Added, Rule: r.Name, To: d.next.summary(r), CountersReset: !d.counters[names]})
			continue
		}
		before := len(d.changes)
		d.compare(d.current.ruleFacts(old), d.next.ruleFacts(r))
		d.compare(old.limitFacts(r), r.limitFacts(old))
		if len(d.changes) > before {
			c := Change{Kind: Counters, Rule: r.Name, From: counterNames(old, nil), To: names}
			c.CountersReset = !d.counters[names]
			d.changes = append(d.changes, c)
		}
	}
	for _, r := range d.removed() {
		d.changes = append(d.changes, Change{Kind: Removed, Rule: r.Name, From: d.current.summary(&r)})
	}
}

// removed returns the rules that the next document does not have.
func (d *differ) removed() []Rule {
	return slices.DeleteFunc(slices.Clone(d.current.Rules), func(r Rule) bool { return d.next.Rule(r.Name) != nil })
}

// order returns the names of the rules that another document has too.
func (d *Document) order(other *Document) Value {
	var names []Value
	for _, r := range d.Rules {
		if other.Rule(r.Name) != nil {
			names = append(names, valueOf(r.Name))
		}
	}
	return list(names)
}

// limitFacts returns the limits field by field if the other version of the rule
// has them too, else as a whole.
func (r *Rule) limitFacts(other *Rule) (all []fact) {
	for _, l := range r.Limits {
		about := Change{Rule: r.Name, Limit: l.Name}
		if slices.ContainsFunc(other.Limits, func(o Limit) bool { return o.Name == l.Name }) {
			all = append(all, facts(about, l, "name")...)
			continue
		}
		about.Kind, about.Field = whole, fieldLimits
		all = append(all, fact{about, object(facts(Change{}, l, "name"))})
	}
	return all
}

// ruleFacts returns the fields of a rule, its limits aside, and what each plan
// makes of it.
func (d *Document) ruleFacts(r *Rule) []fact {
	all := facts(Change{Rule: r.Name}, *r, "name", fieldLimits)
	for _, plan := range slices.Sorted(maps.Keys(d.Plans)) {
		if capacity, ok := d.Plans[plan][r.Name]; ok {
			all = append(all, fact{Change{Rule: r.Name, Field: "plans." + plan}, valueOf(capacity)})
		}
	}
	return all
}

// summary writes a whole rule, without the values that most rules have.
func (d *Document) summary(r *Rule) Value {
	return object(append(d.ruleFacts(r), fact{Change{Field: fieldLimits}, limitsValue(r.Limits)}))
}

func limitsValue(limits []Limit) Value {
	values := make([]Value, len(limits))
	for i, l := range limits {
		values[i] = object(facts(Change{}, l))
	}
	return list(values)
}
