package engine

import (
	"slices"
	"strings"
)

// UnknownCosts returns, in order, the names among an outcome's costs that name
// no limit that settles. Such a limit may belong to any rule of the file,
// whether or not that covers the request, or to an override that replaces the
// rule's limits. The charges of unknown names stay, so callers should log them.
func (d *Decision) UnknownCosts(costs map[string]int64) (names []string) {
	for name := range costs {
		if !d.settles(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// SettlingLimits returns, in order, the policy names of the limits that settle,
// "rule" or "rule.limit".
func (d *Decision) SettlingLimits() (names []string) {
	d.eachSettling(func(rule, limit string) bool {
		names = append(names, PolicyName(rule, limit))
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func (d *Decision) settles(name string) (found bool) {
	d.eachSettling(func(rule, limit string) bool {
		found = strings.HasPrefix(name, rule) && name == PolicyName(rule, limit)
		return !found
	})
	return found
}

// eachSettling calls visit for every limit that settles, those of the request
// first, until visit returns false.
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
