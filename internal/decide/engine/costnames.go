package engine

import "slices"

// UnknownCosts returns, in order, the names among an outcome's costs that name
// no limit that settles. Such a limit may belong to any rule of the file,
// whether or not that covers the request, or to an override that replaces the
// rule's limits. The charges of unknown names stay, so callers should log them.
func (d *Decision) UnknownCosts(costs map[string]int64) (names []string) {
	if len(costs) == 0 {
		return nil
	}
	known := d.SettlingLimits()
	for name := range costs {
		if _, found := slices.BinarySearch(known, name); !found {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// SettlingLimits returns, in order, the policy names of the limits that settle,
// "rule" or "rule.limit".
func (d *Decision) SettlingLimits() (names []string) {
	for v := range d.All() {
		for i := range v.Terms.Limits {
			if v.Terms.Settles(i) {
				names = append(names, v.PolicyName(i))
			}
		}
	}
	if d.set != nil {
		for _, r := range d.set.Rules {
			for i := range r.Costs {
				if r.Costs[i].Settle {
					names = append(names, PolicyName(r.Name, r.Limits[i].Name))
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
