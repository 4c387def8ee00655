package rules

// checkCounters judges which rules share counters: only those that say so. A rule on trial must not share with one that is
// in force, because what it takes would be missing there.
func (d *decoder) checkCounters(rules []*Rule) {
	sharing := map[string][]*Rule{} // by the name of the counter, those that state it
	byName := map[string]*Rule{}
	for _, r := range rules {
		byName[r.Name] = r
		if at := d.at[r]; at.counter.stated() && !at.broken {
			sharing[r.prefix] = append(sharing[r.prefix], r)
		}
	}
	for _, r := range rules {
		at := d.at[r]
		if !at.counter.stated() || at.broken {
			continue
		}
		name := r.prefix[:len(r.prefix)-1]
		if owner := byName[name]; owner != nil && (!d.at[owner].counter.stated() || owner.prefix != r.prefix) {
			d.fail(at.counter, "%q is the name of the rule in line %d, which would not know: write counter: %[1]s there too, or another name",
				name, d.at[owner].name.at.Position.Line)
		}
		d.checkSharing(r, sharing[r.prefix])
	}
}

// checkSharing reports the first rule before this one that cannot share its counters.
func (d *decoder) checkSharing(r *Rule, sharing []*Rule) {
	for _, other := range sharing {
		switch {
		case other == r:
			return
		case r.Mode == Off || other.Mode == Off:
		case r.Atomic && other.Atomic:
			d.fail(d.at[r].counter, "rule %s has this counter too, and two atomic rules cannot be charged together on one: "+
				"remove atomic from one of them, or write another counter", other.Name)
			return
		case r.Mode != other.Mode:
			d.fail(d.at[r].counter, "rule %s has this counter too, and what the one in shadow takes would be missing in the other: "+
				"write another counter while it is on trial", other.Name)
			return
		}
	}
}
