package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ChangeKind says what became of something in a rules document.
type ChangeKind string

const (
	Added    ChangeKind = "added"
	Removed  ChangeKind = "removed"
	Moved    ChangeKind = "moved"    // a rule, in the order of charging
	Changed  ChangeKind = "changed"  // what a field says
	Counters ChangeKind = "counters" // whether those of a changed rule start afresh
)

// Change is one difference between two rules documents.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Rule  string     `json:"rule,omitempty"`  // empty for the document; PlanOverrides for overrides of plans
	Limit string     `json:"limit,omitempty"` // its name; empty for the rule, and for its only limit
	Field string     `json:"field,omitempty"` // as the document has it, inner ones after a dot; empty for a whole rule
	Key   string     `json:"key,omitempty"`   // of an override
	From  string     `json:"from,omitempty"`  // much as the document has it; empty for what was not there
	To    string     `json:"to,omitempty"`
	// Afresh says that counters begin at nothing, and what the old ones hold is left behind: those of an added or a changed
	// rule, or those of an override's key.
	Afresh bool `json:"afresh"`
}

// String says what has changed in one line.
func (c Change) String() string {
	line := c.subject() + ": "
	switch c.Kind {
	case Counters:
		switch {
		case c.Afresh && c.ofPatterns():
			return line + startAfresh + " where the gateway names no route"
		case c.Afresh:
			return line + startAfresh
		case c.From != c.To:
			return line + countOn
		}
		return line + "its counters keep their windows"
	case Added:
		line += "added: " + c.To
	case Removed:
		line += "removed: " + c.From
	case Moved:
		line += fmt.Sprintf("moved from %s to %s", c.From, c.To)
	case Changed:
		line += fmt.Sprintf("from %s to %s", orNone(c.From), orNone(c.To))
	}
	switch {
	case c.Key != "" && c.Afresh:
		return line + "; " + startAfresh
	case c.Kind == Added && c.Rule != "" && c.Field == "" && !c.Afresh:
		return line + "; " + countOn
	}
	return line
}

// ofPatterns reports whether the names of counters differ in nothing but the patterns of routes that were matched.
func (c Change) ofPatterns() bool {
	before, _, _ := strings.Cut(c.From, withRoute)
	after, _, ok := strings.Cut(c.To, withRoute)
	return ok && before == after
}

const (
	startAfresh = "its counters start afresh"
	countOn     = "it counts on with counters that are there"
)

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// subject names what has changed: "rule chat, limit tokens, capacity".
func (c Change) subject() string {
	var words []string
	switch c.Rule {
	case "":
	case PlanOverrides:
		words = append(words, "plans")
	default:
		words = append(words, "rule "+c.Rule)
	}
	if c.Limit != "" {
		words = append(words, "limit "+c.Limit)
	}
	switch {
	case c.Key != "":
		words = append(words, c.Field+" of "+c.Key)
	case c.Field != "" && (c.Field != fieldLimits || c.Limit == ""):
		words = append(words, c.Field)
	}
	return strings.Join(words, ", ")
}

const (
	fieldLimits    = "limits"
	fieldOverrides = "overrides"
)

// Diff says what the next document changes about the current one: what they mean, not how they are written. What concerns
// the whole document comes first, then the rules in the order of the next one, then the rules that are gone, then the
// overrides.
//
// A rule with any change but its place has a Change of kind Counters after the others. They start afresh if their names
// change: the rule or its counter, the key, the patterns of routes that a {route} of it may be, or how its limits count.
func Diff(current, next *Set) []Change {
	d := differ{current: current, next: next, before: byName(current), after: byName(next), counters: map[string]bool{}}
	for _, r := range current.Rules {
		d.counters[r.counterNames(nil)] = true
	}
	d.fields(Change{}, current.facts(), next.facts())
	d.entries("deny", current.deny, next.deny)
	d.entries("skip", current.skip, next.skip)
	d.rules()
	d.overrides(PlanOverrides)
	for _, r := range next.Rules {
		d.overrides(r.Name)
	}
	for _, r := range d.gone() {
		d.overrides(r.Name)
	}
	return d.changes
}

type differ struct {
	current, next *Set
	before, after map[string]*Rule
	counters      map[string]bool // of the current rules
	changes       []Change
}

func byName(s *Set) map[string]*Rule {
	rules := make(map[string]*Rule, len(s.Rules))
	for _, r := range s.Rules {
		rules[r.Name] = r
	}
	return rules
}

func (d *differ) add(c Change) { d.changes = append(d.changes, c) }

// fields compares what two versions of one thing say, field by field. c says what thing that is.
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

// entries compares the entries of deny or skip.
func (d *differ) entries(field string, current, next []selector) {
	before, after := entries(current), entries(next)
	for _, text := range without(after, before) {
		d.add(Change{Kind: Added, Field: field, To: text})
	}
	for _, text := range without(before, after) {
		d.add(Change{Kind: Removed, Field: field, From: text})
	}
}

// without returns the words that are not among others.
func without(words, others []string) []string {
	known := make(map[string]bool, len(others))
	for _, o := range others {
		known[o] = true
	}
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return known[w] })
}

func (d *differ) rules() {
	moved := moved(d.current.Rules, d.next.Rules)
	for _, r := range d.next.Rules {
		old := d.before[r.Name]
		if old == nil {
			d.add(Change{Kind: Added, Rule: r.Name, To: r.summary(), Afresh: !d.counters[r.counterNames(nil)]})
			continue
		}
		if moved[r.Name] {
			d.add(Change{Kind: Moved, Rule: r.Name, From: charged(d.current.Rules, old), To: charged(d.next.Rules, r)})
		}
		d.rule(old, r)
	}
	for _, r := range d.gone() {
		d.add(Change{Kind: Removed, Rule: r.Name, From: r.summary()})
	}
}

// gone returns the rules that the next document does not have.
func (d *differ) gone() (rules []*Rule) {
	for _, r := range d.current.Rules {
		if d.after[r.Name] == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

// charged says when a rule is.
func charged(rules []*Rule, r *Rule) string {
	i := slices.Index(rules, r)
	if i < 1 {
		return "the first place"
	}
	return "after " + rules[i-1].Name
}

func (d *differ) rule(old, r *Rule) {
	before := len(d.changes)
	d.fields(Change{Rule: r.Name}, old.facts(), r.facts())
	for i, l := range r.Limits {
		c := Change{Rule: r.Name, Limit: l.Name}
		if j := indexNamed(old.Limits, l.Name); j >= 0 {
			d.fields(c, old.limitFacts(j), r.limitFacts(i))
			continue
		}
		c.Kind, c.Field, c.To = Added, fieldLimits, flow(unusual(r.limitFacts(i)))
		d.add(c)
	}
	for j, l := range old.Limits {
		if indexNamed(r.Limits, l.Name) < 0 {
			d.add(Change{Kind: Removed, Rule: r.Name, Limit: l.Name, Field: fieldLimits, From: flow(unusual(old.limitFacts(j)))})
		}
	}
	if len(d.changes) > before {
		names := r.counterNames(nil)
		d.add(Change{Kind: Counters, Rule: r.Name, From: old.counterNames(nil), To: names, Afresh: !d.counters[names]})
	}
}

// overrides compares the document's overrides of a rule.
func (d *differ) overrides(rule string) {
	before, after := d.current.namedOverrides(rule), d.next.namedOverrides(rule)
	both := maps.Clone(before)
	if both == nil {
		both = map[string]*Override{}
	}
	maps.Copy(both, after)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		c := Change{Kind: Changed, Rule: rule, Field: fieldOverrides, Key: key}
		old, o := before[key], after[key]
		was, is := d.before[rule], d.after[rule]
		switch c.From, c.To = old.text(was), o.text(is); {
		case c.From == c.To:
			continue
		case old == nil:
			c.Kind = Added
		case o == nil:
			c.Kind = Removed
		}
		c.Afresh = was != nil && is != nil && was.counterNames(old) != is.counterNames(o)
		d.add(c)
	}
}

// namedOverrides returns the document's overrides of a rule by names for their keys: one secret's hash is no other's.
func (s *Set) namedOverrides(rule string) map[string]*Override {
	keys := s.overrideKeys(rule)
	if keys == nil || keys.hash == nil {
		return s.overrides[rule]
	}
	named := make(map[string]*Override, len(s.overrides[rule]))
	for key, o := range s.overrides[rule] {
		if isHashed(key) {
			key += " by " + keys.hash.check
		}
		named[key] = o
	}
	return named
}
