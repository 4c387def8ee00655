package rules

import (
	"regexp"
	"slices"
	"strings"

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
func (d *decoder) name(v value, pattern *regexp.Regexp, longest int, taken names) string {
	name, ok := d.text(v, "per-ip")
	if !ok {
		return ""
	}
	if !pattern.MatchString(name) {
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

// reserved are the names that clients are told where no rule decided.
var reserved = map[string]string{"deny": "the deny list", "unmatched": "requests that no rule covers"}

func (d *decoder) ruleName(v value, taken names) string {
	name := d.name(v, ruleName, 63, taken)
	if meaning, ok := reserved[name]; ok {
		d.fail(v, "%q stands for %s in what clients are told: write another name", name, meaning)
	}
	return name
}

func (d *decoder) rule(v value, onError OnError, taken names) *Rule {
	r := &Rule{OnError: onError}
	d.at[r] = &places{}
	var cost *cost
	d.object(v, []field{
		{name: "name", decode: func(v value) { r.Name = d.ruleName(v, taken) },
			missing: "write one that no other rule has, such as name: per-ip"},
		{name: "when", decode: func(v value) {
			d.selector(v, d.matchFields(&r.when), "is empty: remove it to cover every request")
		}},
		{name: "key", decode: func(v value) { d.at[r].key = v; r.Key, r.template = d.key(v) },
			missing: "write what to count by, such as key: \"ip:{ip}\""},
		{name: "cost", decode: func(v value) { cost = d.cost(v) }},
		{name: "limits", decode: func(v value) { d.at[r].limits = v; d.limits(v, r, cost) },
			missing: "write limits: [{capacity: 10, window: 60s}]"},
		{name: "atomic", decode: func(v value) { d.at[r].atomic = v; r.Atomic = d.boolean(v) }},
		{name: "on_error", decode: func(v value) { r.OnError = d.onError(v) }},
	})
	r.prefix, r.suffix = r.Name+"|", "|"+shape(r.Limits)
	return r
}

func (d *decoder) key(v value) (string, template) {
	if source := mapSource(v.node); source != "" {
		d.fail(v, "{%s} without quotes is a YAML map: write \"{%[1]s}\"", source)
		return "", template{}
	}
	text, ok := d.text(v, "\"ip:{ip}\"")
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

// cost is a fixed cost and its place.
type cost struct {
	units int64
	at    value
}

func (d *decoder) cost(v value) *cost {
	units, ok := d.integer(v, 0, limit.MaxCapacity)
	if !ok {
		return nil
	}
	return &cost{units, v}
}

// limits decodes the limits of a rule and puts them in the order of their names, each with its cost beside it.
func (d *decoder) limits(v value, r *Rule, own *cost) {
	values := d.list(v, "[{capacity: 10, window: 60s}]")
	if _, ok := v.node.(*ast.SequenceNode); ok && (len(values) == 0 || len(values) > limit.MaxLimits) {
		d.fail(v, "holds %d limits: write 1 to %d", len(values), limit.MaxLimits)
	}
	charges := make([]charge, len(values))
	taken := names{}
	for i, v := range values {
		charges[i] = d.limit(v, own, len(values) > 1, taken)
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return strings.Compare(a.limit.Name, b.limit.Name) })
	for _, c := range charges {
		r.Limits, r.Costs = append(r.Limits, c.limit), append(r.Costs, c.units)
		d.at[r].queues = append(d.at[r].queues, c.queue)
	}
}
