package rules

import (
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// longestWhy bounds the reason of an override, in bytes: decisions and logs carry it.
const longestWhy = 500

var (
	overrideForm = mapOf(func() []field {
		return allBut(new(decoder).overrideFields(&statedOverride{}), "plan")
	}).named("override")
	planOverrideForm = mapOf(func() []field {
		return allBut(new(decoder).overrideFields(&statedOverride{}), "capacity", "limits", "unlimited")
	}).named("planOverride")
	overridesForm = overridesOf()
)

// overridesOf is a map from rules, and the plans of callers, to maps from keys to overrides.
func overridesOf() form {
	const example = `{"user:241531": {capacity: 100}}`
	f := namesTo(namesTo(overrideForm, nil, example), ruleName, "{api: "+example+"}")
	f.fields = func() []field {
		return []field{{name: PlanOverrides, doc: "What holds for single callers in all rules: another plan, or nothing at all.",
			form: namesTo(planOverrideForm, nil, `{"user:777": {plan: pro}}`)}}
	}
	return f
}

// statedOverride is what a document says of a key, and where.
type statedOverride struct {
	Override
	at map[string]value // by field; a capacity by name is in "capacity.NAME"
}

// ParseOverride reads one override, as it stands in a rules document, in YAML or JSON; place is its name in errors, which
// are of type Errors. Whether a rule can have it, CheckOverride says.
func ParseOverride(place string, document []byte) (*Override, error) {
	root, errs := parseYAML(document, "it needs capacity, limits, unlimited, plan or deny")
	if len(errs) > 0 {
		return nil, errs.in(place)
	}
	d := &decoder{}
	o := d.override(newValue(root, "", form{}))
	if len(d.errors) > 0 {
		return nil, d.errors.in(place)
	}
	return &o.Override, nil
}

func (d *decoder) override(v value) *statedOverride {
	o := &statedOverride{at: map[string]value{}}
	if !d.object(v, d.overrideFields(o)) {
		return o
	}
	var says []string
	for _, field := range []string{"capacity", "limits", "unlimited", "plan", "deny"} {
		if o.at[field].stated() {
			says = append(says, field)
		}
	}
	switch len(says) {
	case 0:
		d.fail(v, "says nothing: write capacity, limits, unlimited, plan or deny")
	case 1:
	default:
		d.fail(v, "says %s, and an override says one thing: remove all but one", enumerate(says, "and"))
	}
	return o
}

func (d *decoder) overrideFields(o *statedOverride) []field {
	fields := []field{
		{name: "capacity", doc: "Another capacity, or several by the names of limits; the rest of the limits stays.",
			form: either(number(1, limit.MaxCapacity), namedCapacities), decode: func(v value) { d.overrideCapacity(v, o) }},
		{name: "limits", doc: "Limits in the place of all of the rule's; a cost that is not stated is that of the rule's limit of the same name.",
			form: limitsOf(overrideLimitForm), decode: func(v value) { d.overrideLimits(v, o) }},
		{name: "unlimited", doc: "true: the rule does not limit the key.",
			form: trueOrFalse(), decode: func(v value) { o.Unlimited = d.affirm(v) }},
		{name: "plan", doc: "The caller's plan, whatever the token says.",
			form: textLike(planName, "pro"), decode: func(v value) { o.Plan, _ = d.text(v) }},
		{name: "deny", doc: "true: every request of the key is refused.",
			form: trueOrFalse(), decode: func(v value) { o.Deny = d.affirm(v) }},
		{name: "until", doc: "When the override ends by itself, such as 2026-12-31T00:00:00Z.",
			form: text("2026-12-31T00:00:00Z"), decode: func(v value) { o.Until = d.moment(v) }},
		{name: "why", doc: "The reason, for people.",
			form: text("ticket 81"), decode: func(v value) { o.Why = d.reason(v) }},
	}
	for i := range fields {
		decode := fields[i].decode
		name := fields[i].name
		fields[i].decode = func(v value) { o.at[name] = v; decode(v) }
	}
	return fields
}

func (d *decoder) overrideCapacity(v value, o *statedOverride) {
	o.Capacity = map[string]int64{}
	for _, c := range d.capacities(v) {
		o.Capacity[c.limit] = c.units
		o.at[capacityField(c.limit)] = c.at
	}
}

// capacityField names what an override says of a limit.
func capacityField(limit string) string { return strings.TrimSuffix("capacity."+limit, ".") }

func (d *decoder) overrideLimits(v value, o *statedOverride) {
	for _, c := range d.limits(v, nil, true) {
		o.Limits, o.Costs = append(o.Limits, c.limit), append(o.Costs, c.price)
	}
	o.suffix = suffix(o.Limits)
}

// affirm decodes a field that says something by being true.
func (d *decoder) affirm(v value) bool {
	before := len(d.errors)
	yes := d.boolean(v)
	if !yes && len(d.errors) == before {
		d.fail(v, "says nothing where it is false: write true, or remove it")
	}
	return yes
}

func (d *decoder) moment(v value) time.Time {
	text, ok := d.text(v)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d.fail(v, "%q is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00", text)
	}
	return t
}

func (d *decoder) reason(v value) string {
	text, _ := d.text(v)
	if len(text) > longestWhy {
		d.fail(v, "has %d bytes, and %d is the most: shorten it", len(text), longestWhy)
	}
	return text
}

// overrides decodes what the document says of single keys.
func (d *decoder) overrides(v value, s *Set) {
	s.overrides = map[string]map[string]*Override{}
	for _, e := range d.entries(v) {
		s.overrides[e.name] = d.overridesOf(e.value, d.subject(e, s))
	}
}

// subject returns what overrides of a name are about: nothing, where they cannot be judged. A rule that does not say by
// which keys it has overrides has them by its own, for as long as the document holds any.
func (d *decoder) subject(e entry, s *Set) overridden {
	r, ok := s.Rule(e.name)
	if !ok {
		about, problem := s.overridden(e.name)
		if problem != "" {
			d.fail(e.key, "%s", problem)
		}
		return about
	}
	at := d.at[r]
	switch {
	case at.broken:
		return overridden{}
	case r.overridable == nil && at.overrides.stated():
		d.fail(e.key, "rule %s says overrides: false, and here are some: remove one or the other", r.Name)
		return overridden{}
	case r.overridable == nil:
		r.overrideBy(&r.template, at.trusted)
		r.writtenOnly = true
	}
	return r.written()
}

// overridesOf decodes the overrides of one rule, by their keys as requests make them, before those are hashed.
func (d *decoder) overridesOf(v value, about overridden) map[string]*Override {
	all := map[string]*Override{}
	lines := map[string]int{}
	for _, e := range d.entries(v) {
		before := len(d.errors)
		o := d.override(e.value)
		if about.keys == nil {
			continue
		}
		if len(d.errors) == before {
			for _, m := range about.misfits(&o.Override) {
				d.fail(o.at[m.field], "%s", m.reason)
			}
		}
		key, err := about.read(e.name)
		if err != nil {
			d.fail(e.key, "%s", err)
			continue
		}
		if line, ok := lines[key]; ok {
			d.fail(e.key, "%s is the key in line %d too, written otherwise: remove one of them", key, line)
			continue
		}
		all[key], lines[key] = &o.Override, e.key.at.Position.Line
	}
	return all
}
