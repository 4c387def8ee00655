package rules

import "math"

// Parse reads a rules document in YAML; file is its name in errors and warnings. The error is of type Errors and holds
// everything that is wrong: a document is taken whole or not at all.
//
// Plain YAML is enough for rules: one document of maps, lists and values. Anchors, aliases, tags and merge keys are
// refused, and while there are any, or the text is no YAML, nothing else is reported.
func Parse(file string, document []byte) (*Set, error) {
	root, errs := parseYAML(document)
	if len(errs) > 0 {
		return nil, errs.in(file)
	}
	d := &decoder{at: map[*Rule]*places{}}
	set := d.set(newValue(root, ""))
	if len(d.errors) > 0 {
		return nil, d.errors.in(file)
	}
	for _, w := range d.warn(set).in(file) {
		set.Warnings = append(set.Warnings, w.Error())
	}
	return set, nil
}

func (d *decoder) set(v value) *Set {
	s := &Set{Instances: defaultInstances}
	onError := OnErrorLocal
	d.object(v, []field{
		{name: "defaults", decode: func(v value) { onError = d.defaults(v, s) }},
		{name: "unmatched", decode: func(v value) {
			i, _ := d.choice(v, policies)
			s.Unmatched = Policy(i)
		}},
		{name: "deny", decode: func(v value) { s.deny = d.entries(v, "[{cidrs: [198.51.100.0/24]}]") }},
		{name: "skip", decode: func(v value) { s.skip = d.entries(v, "[{methods: [GET], route: /health}]") }},
		{name: "rules", decode: func(v value) { s.Rules = d.rules(v, onError) },
			missing: "write rules: [] if the document is meant to limit nothing"},
	})
	return s
}

func (d *decoder) defaults(v value, s *Set) OnError {
	onError := OnErrorLocal
	d.object(v, []field{
		{name: "on_error", decode: func(v value) { onError = d.onError(v) }},
		{name: "instances", decode: func(v value) {
			n, _ := d.integer(v, 1, math.MaxInt32)
			s.Instances = int(n)
		}},
	})
	return onError
}

func (d *decoder) onError(v value) OnError {
	i, _ := d.choice(v, failures)
	return OnError(i)
}

// entries decodes the entries of deny or skip.
func (d *decoder) entries(v value, example string) []selector {
	values := d.list(v, example)
	selectors := make([]selector, len(values))
	for i, v := range values {
		s := &selectors[i]
		fields := append(d.matchFields(s), field{name: "cidrs", decode: func(v value) { s.cidrs = d.cidrs(v) }})
		d.selector(v, fields, "is empty and would cover every request: write which ones it is for")
	}
	return selectors
}

func (d *decoder) rules(v value, onError OnError) []*Rule {
	values := d.list(v, "[{name: per-ip, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}]")
	rules := make([]*Rule, len(values))
	names := names{}
	for i, v := range values {
		rules[i] = d.rule(v, onError, names)
	}
	return rules
}
