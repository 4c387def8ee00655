package engine

import (
	"slices"
	"strings"
)

// Unsettled returns the names, in order, among an outcome's costs by which nothing settles: no limit of the rules that made
// the decision, whether or not they cover the request, nor one that an override has put in the place of theirs. What was
// charged stays then, and somebody should be told.
func (d *Decision) Unsettled(costs map[string]int64) (names []string) {
	for name := range costs {
		if !d.settles(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Settling returns the names, in order, that Unsettled knows, as clients know them: "rule" or "rule.limit".
func (d *Decision) Settling() (names []string) {
	d.eachSettling(func(rule, limit string) bool {
		names = append(names, policyName(rule, limit))
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func (d *Decision) settles(name string) (found bool) {
	d.eachSettling(func(rule, limit string) bool {
		found = strings.HasPrefix(name, rule) && name == policyName(rule, limit)
		return !found
	})
	return found
}

// eachSettling calls visit for every limit that settles, those of the request first, until it returns false.
func (d *Decision) eachSettling(visit func(rule, limit string) bool) {
	for _, vs := range [...][]Verdict{d.Verdicts, d.Shadows} {
		for i := range vs {
			for j := range vs[i].Terms.Limits {
				if vs[i].Terms.Settles(j) && !visit(vs[i].Rule.Name, vs[i].Terms.Limits[j].Name) {
					return
				}
			}
		}
	}
	if d.set == nil {
		return
	}
	for _, r := range d.set.Rules {
		for j := range r.Costs {
			if r.Costs[j].Settle && !visit(r.Name, r.Limits[j].Name) {
				return
			}
		}
	}
}
