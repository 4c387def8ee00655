package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
)

// fact is what a field of a document comes to, in one spelling for all that mean the same; empty for what is not there.
type fact struct{ field, text string }

// usual are the facts of most rules, which a summary leaves out.
var usual = []fact{
	{"on_error", OnErrorLocal.String()}, {"mode", Enforce.String()}, {"algorithm", limit.SlidingWindow.String()}, {"cost", "1"},
}

func unusual(facts []fact) []fact {
	return slices.DeleteFunc(facts, func(f fact) bool { return slices.Contains(usual, f) })
}

// flow writes facts as a map.
func flow(facts []fact) string {
	var fields []string
	for _, f := range facts {
		if f.text != "" {
			fields = append(fields, f.field+": "+f.text)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// several writes a list, or its only word alone.
func several(words []string) string {
	written := make([]string, len(words))
	for i, w := range words {
		written[i] = word(w)
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return written[0]
	}
	return "[" + strings.Join(written, ", ") + "]"
}

// word writes a text so that nobody takes a part of it for what stands around it.
func word(text string) string {
	if strings.ContainsAny(text, `,"[]`) {
		return strconv.Quote(text)
	}
	return text
}

// sorted is several for words whose order and repetition mean nothing.
func sorted(words []string) string {
	return several(slices.Compact(slices.Sorted(slices.Values(words))))
}

// onlyIf writes a word where it holds.
func onlyIf(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

// facts are those of the document as a whole, its rules, entries and overrides aside.
func (s *Set) facts() []fact {
	return []fact{
		{"defaults.instances", strconv.Itoa(s.Instances)},
		{"client_ip", s.address.text()},
		{"unmatched", s.Unmatched.String()},
		{"hash_secret", s.hash.fact()},
		{"plan.from", s.PlanSource()},
		{"plan.overrides", s.plan.overrides.kinds()},
		{"plans", sorted(s.plans)},
	}
}

func (a *clientAddress) text() string {
	return flow([]fact{
		{"trusted_hops", onlyIf(a.hops > 0, strconv.Itoa(a.hops))},
		{"header", a.header},
		{"secret", flow([]fact{{"header", a.secretHeader}, {"env", word(a.env)}})},
	})
}

// text writes the template as a document has it; "" for none.
func (t *template) text() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.source == literal {
			b.WriteString(p.text)
		} else {
			b.WriteString("{" + p.spell() + "}")
		}
	}
	return b.String()
}

// kinds is text for keys that are told apart by what their hashes are made with.
func (t *template) kinds() string {
	if t == nil || t.hash == nil {
		return t.text()
	}
	return t.text() + " hashed by " + t.hash.check
}

func (h *keyHash) fact() string {
	if h == nil {
		return ""
	}
	return flow([]fact{{"env", word(h.env)}, {"check", h.check}})
}

// ofRoutes reports whether the template's keys tell routes apart: then they may hold the pattern that was matched, and the
// order of patterns matters.
func (t *template) ofRoutes() bool {
	return t != nil && slices.ContainsFunc(t.parts, func(p part) bool { return p.source == fromRoute })
}

// text writes the selector as a map; "" for one that covers every request. ordered keeps the order of routes.
func (s *selector) text(ordered bool) string {
	if s == nil {
		return ""
	}
	routes := patterns(s.routes)
	if !ordered {
		slices.Sort(routes)
	}
	cidrs := make([]string, len(s.cidrs))
	for i, c := range s.cidrs {
		cidrs[i] = c.String()
	}
	conditions := make([]fact, len(s.match))
	for i := range s.match {
		conditions[i] = fact{word(s.match[i].part.spell()), sorted(s.match[i].words)}
	}
	slices.SortFunc(conditions, func(a, b fact) int { return strings.Compare(a.field, b.field) })
	return flow([]fact{
		{"methods", sorted(s.methods)}, {"route", several(slices.Compact(routes))}, {"path", sorted(patterns(s.paths))},
		{"cidrs", sorted(cidrs)}, {"caller", sorted(s.callers.names())}, {"match", flow(conditions)},
	})
}

func patterns(globs []glob) []string {
	texts := make([]string, len(globs))
	for i := range globs {
		texts[i] = globs[i].text
	}
	return texts
}

// entries writes those of deny or skip, each network as an entry of its own: it means the same.
func entries(selectors []selector) (texts []string) {
	for i := range selectors {
		entry := selectors[i]
		if len(entry.cidrs) == 0 {
			texts = append(texts, entry.text(false))
		}
		for j := range selectors[i].cidrs {
			entry.cidrs = selectors[i].cidrs[j : j+1]
			texts = append(texts, entry.text(false))
		}
	}
	return texts
}

// facts are those of the rule, its limits aside.
func (r *Rule) facts() []fact {
	refunds := make([]string, len(r.refunds))
	for i, s := range r.refunds {
		refunds[i] = s.text()
	}
	facts := []fact{
		{"when", r.when.text(r.template.ofRoutes() || r.overridable.ofRoutes())},
		{"unless", r.unless.text(false)},
		{"key", r.template.kinds()},
		{"counter", onlyIf(r.prefix != r.Name+"|", strings.TrimSuffix(r.prefix, "|"))},
		{"atomic", onlyIf(r.Atomic, "true")},
		{"on_error", r.OnError.String()},
		{"mode", r.Mode.String()},
		{"headers", onlyIf(r.Quiet, "off")},
		{"refund_on", sorted(refunds)},
		{fieldOverrides, onlyIf(r.TakesOverrides(), r.overridable.kinds()+onlyIf(r.lowersOnly, ", to lower alone"))},
		{"cost", r.otherCost()},
	}
	for _, plan := range slices.Sorted(maps.Keys(r.plans)) {
		facts = append(facts, fact{"plans." + plan, r.plans[plan].text()})
	}
	return facts
}

// otherCost is what a request costs under limits that only overrides have, where that is another cost than the rule's
// limits have.
func (r *Rule) otherCost() string {
	same := func(c Cost) bool { return c.text() == r.cost.text() }
	return onlyIf(r.overridable != nil && !slices.ContainsFunc(r.Costs, same), r.cost.text())
}

func (p *planned) text() string {
	if p.unlimited {
		return "unlimited"
	}
	return capacities(p.limits)
}

// text writes 5xx for a whole class, 404 for a single status.
func (s statuses) text() string {
	switch {
	case s.first == s.last:
		return strconv.Itoa(s.first)
	case s.first%100 == 0 && s.last == s.first+99:
		return fmt.Sprintf("%dxx", s.first/100)
	}
	return fmt.Sprintf("%d-%d", s.first, s.last)
}

// summary writes the whole rule.
func (r *Rule) summary() string {
	limits := make([]string, len(r.Limits))
	for i := range r.Limits {
		limits[i] = flow(append([]fact{{"name", r.Limits[i].Name}}, unusual(r.limitFacts(i))...))
	}
	return flow(append(unusual(r.facts()), fact{fieldLimits, "[" + strings.Join(limits, ", ") + "]"}))
}

// counterNames says how the names of the rule's counters are made up, for keys with this override; nil for none.
func (r *Rule) counterNames(o *Override) string {
	shape := suffix(r.Limits)
	if o != nil && o.Limits != nil {
		return r.prefix + r.template.kinds() + suffix(o.Limits) + r.matched()
	}
	for i := range r.anchors { // the day is part of the shape
		shape += r.anchors[i].text()
	}
	return r.prefix + r.template.kinds() + shape + r.matched()
}

// withRoute stands before the patterns that a {route} of a key may be, where the gateway names none.
const withRoute = " with route "

// matched says which patterns stand in the names of counters, in their order: the first that covers a path does.
func (r *Rule) matched() string {
	if !r.template.ofRoutes() {
		return ""
	}
	if len(r.when.routes) == 0 {
		return withRoute + anyDepth
	}
	return withRoute + several(patterns(r.when.routes))
}

func indexNamed(limits []limit.Limit, name string) int {
	return slices.IndexFunc(limits, func(l limit.Limit) bool { return l.Name == name })
}
