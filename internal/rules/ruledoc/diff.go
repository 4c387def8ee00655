package ruledoc

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// HashedKey is how every hashed key begins. No other key can: in keys, two hex
// digits follow a %.
const HashedKey = "%hmac-"

const (
	fieldLimit     = "limit"
	fieldLimits    = "limits"
	fieldOverrides = "overrides"

	// withRoutes precedes, in a counter's name, the patterns that {route} may
	// take if the gateway names no route. No text of a Value holds it: its quotes
	// are escaped there.
	withRoutes = `,"routes":`
)

// Diff returns what the next document changes about the current one: what they
// mean, not how they are written. Changes of the whole document come first,
// then the rules in the order of the next document, then removed rules, then
// overrides.
//
// A changed rule has a Change of kind Counters after the others. Its counters
// start at zero if their names change: the rule or its counter, the key, the
// patterns that a {route} of it may be, or how its limits count.
func Diff(current, next *Document) []Change {
	d := differ{current: forDiff(current), next: forDiff(next), counters: map[Value]bool{}}
	for i := range d.current.Rules {
		d.counters[counterNames(&d.current.Rules[i], nil)] = true
	}
	d.compare(d.current.facts(), d.next.facts())
	d.compare(entries("deny", d.current.Deny), entries("deny", d.next.Deny))
	d.compare(entries("skip", d.current.Skip), entries("skip", d.next.Skip))
	d.rules()
	d.overrides(PlanOverrides)
	for _, r := range slices.Concat(d.next.Rules, d.removed()) {
		d.overrides(r.Name)
	}
	return d.changes
}

type differ struct {
	current, next *Document
	counters      map[Value]bool // names of the current rules' counters
	changes       []Change
}

// compare adds the differences between two lists of facts: first the added and
// changed facts, in the order of after, then the removed ones.
func (d *differ) compare(before, after []fact) {
	was := make(map[Change]fact, len(before))
	for _, f := range before {
		was[f.about] = f
	}
	is := make(map[Change]bool, len(after))
	for _, f := range after {
		is[f.about] = true
		if old, ok := was[f.about]; ok {
			d.add(f.about, Changed, old.value, f.value)
		} else {
			d.add(f.about, Added, "", f.value)
		}
	}
	for _, f := range before {
		if !is[f.about] {
			d.add(f.about, Removed, f.value, "")
		}
	}
}

// add adds a difference, unless there is none. Only whole things are added or
// removed; any other value changes from none, or to none.
func (d *differ) add(about Change, kind ChangeKind, from, to Value) {
	c := about
	if c.Kind = kind; about.Kind != whole {
		c.Kind = Changed
	}
	if c.From, c.To = from, to; c.Kind != Changed || from != to {
		d.changes = append(d.changes, c)
	}
}

// forDiff returns a normal document in which key templates and keys name the
// secret that hashes them, because one secret's hash is no other's.
func forDiff(d *Document) *Document {
	d = Normalize(d)
	by := ""
	if d.HashSecret != nil {
		by = " hashed by " + d.HashSecret.Check
	}
	if d.Defaults == nil {
		d.Defaults = &Defaults{}
	}
	if d.Plan == nil {
		d.Plan = &PlanSource{}
	}
	if d.Plan.Hash {
		d.Plan.Overrides, d.Plan.Hash = d.Plan.Overrides+by, false
		d.nameHashes(PlanOverrides)
	}
	for i := range d.Rules {
		r := &d.Rules[i]
		if r.Overrides != nil && r.Overrides.OwnKey {
			r.Overrides = &OverrideKeys{Template: r.Key}
		}
		if r.Hash {
			d.nameHashes(r.Name)
			r.Key, r.Hash = r.Key+by, false
			if r.Overrides != nil {
				r.Overrides.Template += by
			}
		}
		if r.Counter == r.Name {
			r.Counter = ""
		}
		// If all limits have the rule's cost, a change of it shows in theirs.
		if r.Cost != nil && !slices.ContainsFunc(r.Limits, func(l Limit) bool { return valueOf(l.Cost) != valueOf(r.Cost) }) {
			r.Cost = nil
		}
	}
	return d
}

// nameHashes adds the check of the secret to overrides that are there by the
// hashes of their keys.
func (d *Document) nameHashes(rule string) {
	for key, o := range maps.Clone(d.Overrides[rule]) {
		if strings.HasPrefix(key, HashedKey) && d.HashSecret != nil {
			delete(d.Overrides[rule], key)
			d.Overrides[rule][key+" by "+d.HashSecret.Check] = o
		}
	}
}

// facts returns what concerns the whole document.
func (d *Document) facts() []fact {
	all := facts(Change{Field: "defaults."}, *d.Defaults)
	all = append(all, facts(Change{}, *d, "defaults", "deny", "skip", "plan", "rules", "plans", "overrides")...)
	all = append(all, facts(Change{Field: "plan."}, *d.Plan)...)
	return append(all, fact{Change{Field: "plans"}, valueOf(Texts(slices.Sorted(maps.Keys(d.Plans))))})
}

// entries returns the entries of deny or skip, network by network.
func entries(field string, selectors []Selector) (all []fact) {
	for _, s := range selectors {
		networks := s.CIDRs
		for i := range max(1, len(networks)) {
			s.CIDRs = networks[i:min(i+1, len(networks))]
			entry := valueOf(s)
			all = append(all, fact{Change{Kind: whole, Field: field, To: entry}, entry})
		}
	}
	return all
}

// overrides compares the overrides of a rule, or of plans.
func (d *differ) overrides(rule string) {
	from := len(d.changes)
	d.compare(d.current.overrideFacts(rule), d.next.overrideFacts(rule))
	added := d.changes[from:]
	slices.SortStableFunc(added, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	if was, is := d.current.Rule(rule), d.next.Rule(rule); was != nil && is != nil {
		for i, c := range added {
			before, after := d.current.Overrides[rule][c.Key].Limits, d.next.Overrides[rule][c.Key].Limits
			added[i].CountersReset = counterNames(was, before) != counterNames(is, after)
		}
	}
}

func (d *Document) overrideFacts(rule string) (all []fact) {
	for key, o := range d.Overrides[rule] {
		all = append(all, fact{Change{Kind: whole, Rule: rule, Field: fieldOverrides, Key: key}, overrideValue(o)})
	}
	return all
}

// overrideValue writes an override without its limits' usual algorithm. Their
// costs stay: an override's limit without one has the rule's.
func overrideValue(o Override) Value {
	o.Limits = slices.Clone(o.Limits)
	for i := range o.Limits {
		if l := &o.Limits[i]; l.Algorithm == DefaultAlgorithm {
			l.Algorithm = ""
		}
	}
	return valueOf(o)
}

// counterNames says what the names of a rule's counters are made of, for keys
// with these limits of an override; nil for none.
func counterNames(r *Rule, limits []Limit) Value {
	if limits == nil {
		limits = r.Limits
	}
	names := `{"counter":` + valueOf(cmp.Or(r.Counter, r.Name)) + `,"key":` + cmp.Or(valueOf(r.Key), `""`) +
		`,"limits":` + countingValue(limits)
	if strings.Contains(r.Key, "{route}") {
		routes := valueOf("**") // in order: a counter's name has the first one that matches the path
		if r.When != nil && len(r.When.Route) > 0 {
			routes = valueOf(r.When.Route)
		}
		names += withRoutes + routes
	}
	return names + "}"
}

// countingValue writes how limits count: every field except how much they allow,
// and how long places in flight last.
// Limits with the same value share counters (see rules.shape).
func countingValue(limits []Limit) Value {
	counting := make([]Limit, len(limits))
	for i, l := range limits {
		counting[i] = Limit{
			Name: l.Name, Algorithm: l.Algorithm, Window: l.Window, Granularity: l.Granularity, Timezone: l.Timezone, Anchor: l.Anchor,
			InFlight: min(l.InFlight, 1),
		}
	}
	return limitsValue(counting)
}
