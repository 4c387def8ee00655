package rules

import (
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/slidegate/slidegate/internal/limit"
)

var (
	ruleName  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	limitName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)
)

// names are those taken so far, and the line of each.
type names map[string]int

// name decodes a name and takes it.
func (d *decoder) name(v value, longest int, taken names) string {
	name, ok := d.text(v)
	if !ok {
		return ""
	}
	if !v.form.pattern.MatchString(name) {
		d.fail(v, "%q cannot be a name: use 1 to %d lower-case letters, digits and hyphens, a letter or digit first", name, longest)
		return ""
	}
	if line, ok := taken[name]; ok {
		d.fail(v, "%q is the name of another, in line %d: write a name of its own", name, line)
		return ""
	}
	taken[name] = v.at.Position.Line
	return name
}

// reserved are names that stand for something else where those of rules are read.
var reserved = map[string]string{
	"deny":        "the deny list in what clients are told",
	"unmatched":   "requests that no rule covers in what clients are told",
	"undisclosed": "rules that clients are not told of",
	PlanOverrides: "the plans of callers among overrides",
}

func (d *decoder) ruleName(v value, taken names) string {
	name := d.name(v, 63, taken)
	if meaning, ok := reserved[name]; ok {
		d.fail(v, "%q stands for %s: write another name", name, meaning)
	}
	return name
}

// places say where the parts of a rule stand that are judged together with others.
type places struct {
	name, key, overrides, counter, limits, refunds, atomic value

	trusted []verified
	cost    *cost   // of the rule itself; nil for none
	each    []value // of Limits: where the limit stands
	queues  []value // its queue, or all of it where that is not stated
	costs   []value // its cost, or all of it
	broken  bool    // something in the rule is wrong, so what goes with it cannot be judged
}

var ruleForm = mapOf(func() []field { return new(decoder).ruleFields(&Rule{}, &places{}, nil) })

func (d *decoder) rule(v value, onError OnError, taken names) *Rule {
	r, at := &Rule{OnError: onError, cost: Fixed(1)}, &places{}
	d.at[r] = at
	before := len(d.errors)
	if d.object(v, d.ruleFields(r, at, taken)) {
		d.checkRule(r, at)
	}
	if at.cost != nil {
		r.cost = at.cost.Cost
	}
	if r.prefix == "" {
		r.prefix = r.Name + "|"
	}
	at.broken = len(d.errors) > before
	return r
}

func (d *decoder) ruleFields(r *Rule, at *places, taken names) []field {
	return []field{
		{name: "name", doc: "The rule's name, which its counters carry.", at: &at.name,
			form: textLike(ruleName, "per-ip"), decode: func(v value) { r.Name = d.ruleName(v, taken) },
			missing: "write one that no other rule has, such as name: per-ip"},
		{name: "when", doc: "Which requests the rule covers: those for which every field holds; without it, all.",
			form: selectorForm, decode: func(v value) { d.selector(v, &r.when, "is empty: remove it to cover every request") }},
		{name: "unless", doc: "Which of them it leaves out; they must be spelled exactly as it is.",
			form: selectorForm, decode: func(v value) {
				r.unless = &selector{}
				d.selector(v, r.unless, "is empty and would leave out every request: write which ones")
			}},
		{name: "key", doc: "What the rule counts by: text and sources in braces, such as ip:{ip} or user:{jwt.sub}.", at: &at.key,
			form: text("\"ip:{ip}\""), decode: func(v value) { r.Key, r.template = d.key(v) },
			missing: "write what to count by, such as key: \"ip:{ip}\""},
		{name: "hash", doc: "true: a hash of the key stands in tables and logs, in the place of the key.",
			form: trueOrFalse(), decode: func(v value) { r.template.hash = d.hashed(v) }},
		{name: "trusted", doc: "Sources of the key that the client fills in and the backend verifies, such as path.partner.",
			form: someOf(text("path.partner")), decode: func(v value) { at.trusted = d.trusted(v) }},
		{name: "overrides", doc: "true, or a template of its own keys: single keys may have other limits.", at: &at.overrides,
			form: either(trueOrFalse(), text("tenant:{jwt.tenant}")), decode: func(v value) { d.overridable(v, r, at.trusted) }},
		{name: "counter", doc: "The name that the counters carry in the place of the rule's; rules that name the same one share them.", at: &at.counter,
			form: textLike(ruleName, "api"), decode: func(v value) { r.prefix = d.name(v, 63, names{}) + "|" }},
		{name: "cost", doc: "Units that a request takes, 1 unless said; a limit's own cost comes first.",
			form: costForm, decode: func(v value) { at.cost = d.cost(v) }},
		{name: "limits", doc: "The limits, taken from all or none.", at: &at.limits,
			form: limitsOf(limitForm), decode: func(v value) { at.take(r, d.limits(v, at.cost, false)) },
			missing: "write limits: [{capacity: 10, window: 60s}]"},
		{name: "refund_on", doc: "Statuses of the backend's answer, such as 404 or 5xx, that give back what a request took.", at: &at.refunds,
			form: someOf(either(number(100, 599), textLike(statusClass, "5xx"))), decode: func(v value) { r.refunds = d.statuses(v) }},
		{name: "mode", doc: "enforce (the default), shadow: charge and record but let through, or off.",
			form: oneOf(modes), decode: func(v value) { i, _ := d.choice(v); r.Mode = Mode(i) }},
		{name: "atomic", doc: "true: charged together with the other atomic rules that cover a request, all or none.", at: &at.atomic,
			form: trueOrFalse(), decode: func(v value) { r.Atomic = d.boolean(v) }},
		{name: "on_error", doc: "While the counters cannot be reached: count in this process (local), let through (allow) or refuse (deny).",
			form: oneOf(failures), decode: func(v value) { r.OnError = d.onError(v) }},
		{name: "headers", doc: "off: clients are not told of the rule.",
			form: oneOf([]string{"on", "off"}), decode: func(v value) { i, _ := d.choice(v); r.Quiet = i == 1 }},
	}
}

// take fills in a rule's limits, and what stands beside each.
func (at *places) take(r *Rule, charges []charge) {
	for i, c := range charges {
		r.Limits, r.Costs = append(r.Limits, c.limit), append(r.Costs, c.price)
		if c.anchored.source != literal {
			r.anchors = append(r.anchors, anchor{i, c.anchored, c.limit.Calendar.Anchor})
		}
		if c.candidate != (Candidate{}) && r.Candidates == nil {
			r.Candidates = make([]Candidate, len(charges))
		}
		if r.Candidates != nil {
			r.Candidates[i] = c.candidate
		}
		cost := c.at
		if c.cost != nil {
			cost = c.cost.at
		}
		at.each, at.queues, at.costs = append(at.each, c.at), append(at.queues, c.holds), append(at.costs, cost)
	}
}

// overridable decodes by which keys overrides of the rule are looked up.
func (d *decoder) overridable(v value, r *Rule, trusted []verified) {
	if n, ok := v.node.(*ast.BoolNode); ok {
		if n.Value {
			r.overrideBy(&r.template, trusted)
		}
		return
	}
	_, t := d.key(v)
	t.hash = r.template.hash
	r.overrideBy(&t, trusted)
}

func (d *decoder) key(v value) (string, template) {
	if source := mapSource(v.node); source != "" {
		d.fail(v, "{%s} without quotes is a YAML map: write \"{%[1]s}\"", source)
		return "", template{}
	}
	text, ok := d.text(v)
	if !ok {
		return "", template{}
	}
	t, problems := parseTemplate(text)
	for _, p := range problems {
		d.fail(v, "%s", p)
	}
	return text, t
}

// mapSource returns what stands in the braces of a map that was meant to be a template: one name and no value.
func mapSource(node ast.Node) string {
	m, ok := node.(*ast.MappingNode)
	if !ok || len(m.Values) != 1 || !m.IsFlowStyle {
		return ""
	}
	if _, ok := m.Values[0].Value.(*ast.NullNode); !ok {
		return ""
	}
	return m.Values[0].Key.GetToken().Value
}

var statusClass = regexp.MustCompile(`^[1-5]xx$`)

func (d *decoder) statuses(v value) (all []statuses) {
	for _, v := range d.some(v) {
		if _, ok := v.node.(*ast.IntegerNode); ok {
			status, _ := d.integer(v)
			all = append(all, statuses{int(status), int(status)})
			continue
		}
		text, ok := d.text(v)
		if !ok {
			continue
		}
		if !statusClass.MatchString(text) {
			d.fail(v, "%q is no status: write a number such as 404, or a class such as 5xx", text)
			continue
		}
		class, _ := strconv.Atoi(text[:1])
		all = append(all, statuses{100 * class, 100*class + 99})
	}
	return all
}

// checkRule judges what the fields of a rule mean together.
func (d *decoder) checkRule(r *Rule, at *places) {
	if r.Mode == Shadow && r.Atomic {
		d.fail(at.atomic, "a rule in shadow is judged by itself, once all others have allowed: remove atomic, or write mode: enforce")
	}
	if at.refunds.stated() {
		for i := range r.Limits {
			if l := &r.Limits[i]; !l.Correctable() {
				d.fail(at.refunds, "%s is a %s, which cannot give back: remove refund_on, or write algorithm: %s there",
					at.each[i].path, l.Algorithm, limit.SlidingWindow)
			}
		}
	}
	d.checkTrusted(r, at)
}
