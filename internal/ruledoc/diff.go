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
	fieldLimits    = "limits"
	fieldOverrides = "overrides"

	// withRoute stands before the patterns that a {route} of a key may be if
	// the gateway names no route.
	withRoute = " with route "
)

// Diff returns what the next document changes about the current one: what they
// mean, not how they are written. Changes of the whole document come first,
// then the rules in the order of the next document, then removed rules, then
// overrides.
//
// A rule with any change but its place has a Change of kind Counters after the
// others. Its counters start at zero if their names change: the rule or its
// counter, the key, the patterns that a {route} of it may be, or how its
// limits count.
func Diff(current, next *Document) []Change {
	d := differ{current: forDiff(current), next: forDiff(next), counters: map[string]bool{}}
	for i := range d.current.Rules {
		d.counters[counterNames(&d.current.Rules[i], nil)] = true
	}
	d.document()
	d.rules()
	for _, name := range d.ruleNames() {
		d.overrides(name)
	}
	return d.changes
}

type differ struct {
	current, next *Document
	counters      map[string]bool // names of the current rules' counters
	changes       []Change
}

func (d *differ) add(c Change) { d.changes = append(d.changes, c) }

// forDiff returns a normal document in which key templates and keys name the
// secret that hashes them, because one secret's hash is no other's.
func forDiff(d *Document) *Document {
	d = Normalize(d)
	by := ""
	if d.HashSecret != nil {
		by = " hashed by " + d.HashSecret.Check
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
		if r.costsAlike() {
			r.Cost = nil
		}
	}
	return d
}

// costsAlike reports whether the rule's own cost says no more than those of its
// limits, which differ with it.
func (r *Rule) costsAlike() bool {
	return r.Cost != nil && !slices.ContainsFunc(r.Limits, func(l Limit) bool { return *l.Cost != *r.Cost })
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

// document compares what concerns the whole document.
func (d *differ) document() {
	d.fields(Change{}, d.current.facts(), d.next.facts())
	d.entries("deny", d.current.Deny, d.next.Deny)
	d.entries("skip", d.current.Skip, d.next.Skip)
}

func (d *Document) facts() []fact {
	all := prefixed("defaults.", facts(*d.Defaults))
	all = append(all, facts(*d, "defaults", "deny", "skip", "plan", "rules", "plans", "overrides")...)
	all = append(all, prefixed("plan.", facts(*d.Plan))...)
	return append(all, fact{"plans", text(Texts(slices.Sorted(maps.Keys(d.Plans))))})
}

func prefixed(prefix string, all []fact) []fact {
	for i := range all {
		all[i].field = prefix + all[i].field
	}
	return all
}

// fields compares two versions of one thing, field by field. c says which
// thing that is. The two may have different fields.
func (d *differ) fields(c Change, before, after []fact) {
	c.Kind = Changed
	had := make(map[string]string, len(before))
	for _, f := range before {
		had[f.field] = f.text
	}
	for _, f := range after {
		if c.Field, c.From, c.To = f.field, had[f.field], f.text; c.From != c.To {
			d.add(c)
		}
		delete(had, f.field)
	}
	for _, f := range before {
		if c.Field, c.From, c.To = f.field, had[f.field], ""; c.From != "" {
			d.add(c)
		}
	}
}

// entries compares the entries of deny or skip, network by network.
func (d *differ) entries(field string, current, next []Selector) {
	before, after := eachNetwork(current), eachNetwork(next)
	for _, text := range without(after, before) {
		d.add(Change{Kind: Added, Field: field, To: text})
	}
	for _, text := range without(before, after) {
		d.add(Change{Kind: Removed, Field: field, From: text})
	}
}

func eachNetwork(entries []Selector) (texts []string) {
	for _, s := range entries {
		networks := s.CIDRs
		if len(networks) == 0 {
			texts = append(texts, text(s))
		}
		for i := range networks {
			s.CIDRs = networks[i : i+1]
			texts = append(texts, text(s))
		}
	}
	return texts
}

// without returns the texts that are not among others.
func without(texts, others []string) []string {
	known := make(map[string]bool, len(others))
	for _, o := range others {
		known[o] = true
	}
	return slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return known[t] })
}

// ruleNames returns the names under which either document may have overrides.
func (d *differ) ruleNames() []string {
	names := []string{PlanOverrides}
	for _, r := range d.next.Rules {
		names = append(names, r.Name)
	}
	for _, r := range d.removed() {
		names = append(names, r.Name)
	}
	return names
}

// overrides compares the overrides of a rule, or of plans.
func (d *differ) overrides(rule string) {
	before, after := d.current.Overrides[rule], d.next.Overrides[rule]
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	was, is := d.current.Rule(rule), d.next.Rule(rule)
	for _, key := range slices.Compact(keys) {
		old, had := before[key]
		o, has := after[key]
		c := Change{Kind: Changed, Rule: rule, Field: fieldOverrides, Key: key, From: overrideText(old), To: overrideText(o)}
		switch {
		case had == has && c.From == c.To:
			continue
		case !had:
			c.Kind = Added
		case !has:
			c.Kind = Removed
		}
		c.CountersReset = was != nil && is != nil && counterNames(was, old.Limits) != counterNames(is, o.Limits)
		d.add(c)
	}
}

// overrideText writes an override without its limits' usual algorithm. Their
// costs stay: an override's limit without one has the rule's.
func overrideText(o Override) string {
	o.Limits = slices.Clone(o.Limits)
	for i := range o.Limits {
		o.Limits[i].hideAlgorithm()
	}
	return text(o)
}

// counterNames says what the names of a rule's counters are made of, for keys
// with these limits of an override; nil for none.
func counterNames(r *Rule, limits []Limit) string {
	if limits == nil {
		limits = r.Limits
	}
	names := cmp.Or(r.Counter, r.Name) + "|" + r.Key + "|" + countingText(limits)
	if strings.Contains(r.Key, "{route}") {
		names += withRoute + r.routes()
	}
	return names
}

// countingText writes how limits count: everything but how much they allow.
// Limits that count alike share counters (see rules.shape).
func countingText(limits []Limit) string {
	counting := make([]Limit, len(limits))
	for i, l := range limits {
		counting[i] = Limit{
			Name: l.Name, Algorithm: l.Algorithm, Window: l.Window, Granularity: l.Granularity, Timezone: l.Timezone, Anchor: l.Anchor,
		}
		counting[i].hideAlgorithm()
	}
	return text(counting)
}

// routes writes the patterns that stand in the names of counters, in their
// order: the first that matches a path does.
func (r *Rule) routes() string {
	if r.When == nil || len(r.When.Route) == 0 {
		return "**"
	}
	return text(r.When.Route)
}
