package ruledoc

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Normalize returns the canonical form of a document: defaults, costs and the
// capacities of plans are stated, limit stands in limits, and lists whose order means nothing are
// sorted. Two valid documents mean the same exactly if they normalize to the
// same, except that keys of overrides keep their escapes: package rules decodes
// them.
//
// A normal form normalizes to itself. An invalid document normalizes to some
// document; rules.Compile says what is wrong with the original.
func Normalize(d *Document) *Document {
	d = WithDefaults(d)
	if d.Defaults.OnError = ""; d.Defaults.Instances == 0 { // rules state their own on_error
		d.Defaults = nil
	}
	if c := d.ClientIP; c != nil && c.TrustedHops != nil && *c.TrustedHops == 0 && c.Header == "" && c.Secret == nil {
		d.ClientIP = nil
	}
	d.Authentication.normalize()
	d.RetryJitter = canonicalDuration(d.RetryJitter)
	if d.Plan != nil {
		d.Plan.Overrides = lowerSources(d.Plan.Overrides)
	}
	d.Deny, d.Skip = mergeEntries(d.Deny), mergeEntries(d.Skip)
	for i := range d.Rules {
		d.normalizeRule(&d.Rules[i])
	}
	for _, plan := range d.Plans {
		for name, capacity := range plan {
			if r := d.Rule(name); r != nil && !capacity.Unlimited {
				plan[name] = PlanCapacity{Capacity: capacity.Capacity.of(r)}
			}
		}
	}
	for name, overrides := range d.Overrides {
		for key, o := range overrides {
			overrides[key] = o.normalize(d.Rule(name))
		}
	}
	maps.DeleteFunc(d.Overrides, func(_ string, overrides map[string]Override) bool { return len(overrides) == 0 })
	if len(d.Overrides) == 0 {
		d.Overrides = nil
	}
	return d
}

// Rule returns the rule with this name; nil if there is none.
func (d *Document) Rule(name string) *Rule {
	for i := range d.Rules {
		if d.Rules[i].Name == name {
			return &d.Rules[i]
		}
	}
	return nil
}

func (d *Document) normalizeRule(r *Rule) {
	r.Key = lowerSources(r.Key)
	for i, source := range r.Trusted {
		r.Trusted[i] = lowerSource(source)
	}
	r.Trusted = sortedSet(r.Trusted)
	r.normalizeOverrides(len(d.Overrides[r.Name]) > 0)
	if r.When != nil {
		// The first pattern that matches a path is in its key, so their order matters.
		inOrder := strings.Contains(r.Key, "{route}") || r.Overrides != nil && strings.Contains(r.Overrides.Template, "{route}")
		r.When.normalize(inOrder)
		if r.When.onlyCaller() && len(r.When.Caller) == 3 { // every request
			r.When = nil
		}
	}
	if r.Unless != nil {
		r.Unless.normalize(false)
	}
	if r.Counter == r.Name && !slices.ContainsFunc(d.Rules, func(other Rule) bool { return other.Name != r.Name && other.Counter == r.Counter }) {
		r.Counter = ""
	}
	if r.Headers == "on" {
		r.Headers = ""
	}
	if r.Limit != nil && len(r.Limits) == 0 {
		r.Limits = []Limit{*r.Limit}
	}
	r.Limit = nil
	if r.SettleWithin = canonicalDuration(r.SettleWithin); r.SettleWithin == FormatDuration(DefaultSettleWithin) {
		r.SettleWithin = ""
	}
	if r.Reservations == DefaultReservations {
		r.Reservations = 0
	}
	r.RefundOn = withoutCovered(sortedSet(r.RefundOn))
	r.normalizeLimits(r.Overrides != nil || len(d.Overrides[r.Name]) > 0)
}

// normalizeOverrides drops the field if it only states the default. A rule may
// have overrides in the document without the field, so a missing field stays
// missing.
func (r *Rule) normalizeOverrides(any bool) {
	if r.Overrides == nil {
		return
	}
	if r.Overrides.Template = lowerSources(r.Overrides.Template); r.Overrides.Template == r.Key {
		*r.Overrides = OverrideKeys{OwnKey: true}
	}
	if *r.Overrides == (OverrideKeys{}) && !any {
		r.Overrides = nil
	}
}

// normalizeLimits states the cost of every limit. The rule's own cost stays
// only where limits of overrides may need it.
func (r *Rule) normalizeLimits(overridable bool) {
	if r.Cost == nil {
		r.Cost = &Cost{Units: 1}
	}
	r.Cost.normalize()
	for i := range r.Limits {
		l := &r.Limits[i]
		switch l.normalize(); {
		case l.Cost != nil:
		case l.IsInFlight():
			l.Cost = &Cost{Units: 1}
		default:
			l.Cost = copyOf(r.Cost)
		}
	}
	if !overridable {
		r.Cost = nil
	}
	sortLimits(r.Limits)
}

func sortLimits(limits []Limit) {
	slices.SortStableFunc(limits, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) })
}

func (l *Limit) normalize() {
	if l.Timezone == "" {
		l.Window = canonicalDuration(l.Window)
	}
	l.Granularity, l.Expires = canonicalDuration(l.Granularity), canonicalDuration(l.Expires)
	if l.Window == "1d" && l.Timezone == "UTC" && l.Algorithm == fixedWindow {
		l.Timezone = "" // 24 hours, as the days of UTC are
	}
	if l.Anchor != nil && *l.Anchor == (Anchor{Day: 1}) {
		l.Anchor = nil
	}
	l.Cost.normalize()
}

// normalize writes weights without zeros at their end. c may be nil.
func (c *Cost) normalize() {
	if c == nil {
		return
	}
	c.From = lowerSource(c.From)
	for name, weight := range c.Weights {
		if strings.Contains(string(weight), ".") {
			c.Weights[name] = json.Number(strings.TrimRight(strings.TrimRight(string(weight), "0"), "."))
		}
	}
}

// canonicalDuration writes a length of time in one way; it leaves any other text
// unchanged.
func canonicalDuration(text string) string {
	if d, ok := ParseDuration(text); ok && d <= MaxWindow {
		return FormatDuration(d)
	}
	return text
}

// of returns the capacities for all limits of a rule: those stated, else the
// rule's own.
func (c Capacities) of(r *Rule) Capacities {
	all := Capacities{}
	for _, l := range r.Limits {
		all[l.Name] = l.Capacity + l.InFlight
	}
	maps.Copy(all, c.named(r))
	return all
}

// named returns the capacities with the name of a rule's only limit in the
// place of "".
func (c Capacities) named(r *Rule) Capacities {
	units, alone := c[""]
	if r == nil || len(r.Limits) != 1 || !alone || len(c) != 1 {
		return c
	}
	return Capacities{r.Limits[0].Name: units}
}

// normalize returns the canonical form of an override of a rule, which is nil
// for overrides of plans.
func (o Override) normalize(r *Rule) Override {
	o.Capacity = o.Capacity.named(r)
	for i := range o.Limits {
		o.Limits[i].normalize()
	}
	sortLimits(o.Limits)
	o.Until = o.Until.UTC()
	return o
}

func (s *Selector) normalize(routesInOrder bool) {
	s.Methods, s.Path = sortedSet(s.Methods), sortedSet(s.Path)
	if routesInOrder {
		s.Route = distinct(s.Route)
	} else {
		s.Route = sortedSet(s.Route)
	}
	for i, text := range s.CIDRs {
		if network, err := netip.ParsePrefix(text); err == nil {
			s.CIDRs[i] = network.String()
		}
	}
	s.CIDRs = sortedSet(s.CIDRs)
	if s.Caller = sortedSet(s.Caller); len(s.Caller) == 3 && !s.onlyCaller() {
		s.Caller = nil // all callers
	}
	for source, words := range s.Match {
		s.Match[source] = sortedSet(words)
	}
}

// onlyCaller reports whether a selector states callers alone. Without them it
// would be empty, and empty selectors are invalid.
func (s *Selector) onlyCaller() bool {
	return len(s.Methods)+len(s.Route)+len(s.Path)+len(s.CIDRs)+len(s.Match) == 0
}

// mergeEntries puts the entries of deny or skip in order. Entries that differ
// in their networks alone become one.
func mergeEntries(entries []Selector) []Selector {
	byRest := map[string]*Selector{}
	for i := range entries {
		s := &entries[i]
		s.normalize(false)
		rest := *s
		if rest.CIDRs = nil; len(s.CIDRs) > 0 {
			rest.CIDRs = Texts{""}
		}
		text, _ := json.Marshal(rest)
		if first := byRest[string(text)]; first != nil {
			first.CIDRs = sortedSet(append(first.CIDRs, s.CIDRs...))
		} else {
			byRest[string(text)] = s
		}
	}
	var merged []Selector
	for _, key := range slices.Sorted(maps.Keys(byRest)) {
		merged = append(merged, *byRest[key])
	}
	return merged
}

// sortedSet returns the values in order, each once. An empty list stays one.
func sortedSet[T ~[]string](values T) T {
	slices.Sort(values)
	return slices.Compact(values)
}

// distinct returns the values in the order in which they first appear.
func distinct[T ~[]string](values T) T {
	seen := make(map[string]bool, len(values))
	return slices.DeleteFunc(values, func(v string) bool {
		repeated := seen[v]
		seen[v] = true
		return repeated
	})
}

// withoutCovered removes the statuses whose class is there too.
func withoutCovered(statuses Statuses) Statuses {
	return slices.DeleteFunc(statuses, func(s string) bool {
		return len(s) == 3 && !strings.HasSuffix(s, "xx") && slices.Contains(statuses, s[:1]+"xx")
	})
}

var headerSource = Regexp(`\{header\.[^{}]*\}`)

// lowerSources writes the names of headers in a key template in lower case, and
// the default {ip/64} as {ip}.
func lowerSources(template string) string {
	template = strings.ReplaceAll(template, "{ip/64}", "{ip}")
	return headerSource().ReplaceAllStringFunc(template, strings.ToLower)
}

func lowerSource(source string) string {
	if strings.HasPrefix(source, "header.") {
		return strings.ToLower(source)
	}
	return source
}
