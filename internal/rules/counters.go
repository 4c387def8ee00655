package rules

import "slices"

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

// clientParts are the sources of a rule's key that the client fills in, and that the rule does not trust.
func (d *decoder) clientParts(r *Rule) (parts []part) {
	for _, p := range r.template.parts {
		if p.source.isClient() && !slices.ContainsFunc(d.at[r].trusted, func(t verified) bool { return t.part == p }) {
			parts = append(parts, p)
		}
	}
	return parts
}

// clientPartOfOne returns a source that the client fills in for one of two rules and not for the other: whoever sends the
// right text there takes from the counters of the other's callers.
func (d *decoder) clientPartOfOne(a, b *Rule) (p part, of *Rule) {
	for _, pair := range [][2]*Rule{{a, b}, {b, a}} {
		others := d.clientParts(pair[1])
		for _, p := range d.clientParts(pair[0]) {
			if !slices.Contains(others, p) {
				return p, pair[0]
			}
		}
	}
	return part{}, nil
}

// checkSharing reports the first rule before this one that cannot share its counters.
func (d *decoder) checkSharing(r *Rule, sharing []*Rule) {
	for _, other := range sharing {
		switch {
		case other == r:
			return
		case r.Mode == Off || other.Mode == Off:
			continue
		case r.Atomic && other.Atomic:
			d.fail(d.at[r].counter, "rule %s has this counter too, and two atomic rules cannot be charged together on one: "+
				"remove atomic from one of them, or write another counter", other.Name)
			return
		case r.Hashed() != other.Hashed():
			d.fail(d.at[r].counter, "rule %s has this counter too, and only one of the two hashes its keys, so they would share nothing: "+
				"write hash: true in both", other.Name)
			return
		case r.Mode != other.Mode:
			d.fail(d.at[r].counter, "rule %s has this counter too, and what the one in shadow takes would be missing in the other: "+
				"write another counter while it is on trial", other.Name)
			return
		}
		if p, of := d.clientPartOfOne(r, other); of != nil {
			d.fail(d.at[r].counter, "rule %s has this counter too, and {%s} in the key of %s is the client's own word, so a client could "+
				"use up the counters of others: count by the same sources in both, or write another counter", other.Name, p.spell(), of.Name)
			return
		}
	}
}
