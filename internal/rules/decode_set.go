package rules

import "math"

// Parse reads a rules document in YAML; file is its name in errors and warnings. The error is of type Errors and holds
// everything that is wrong: a document is taken whole or not at all.
//
// Plain YAML is enough for rules: one document of maps, lists and values. Anchors, aliases, tags and merge keys are
// refused, and while there are any, or the text is no YAML, nothing else is reported.
func Parse(file string, document []byte) (*Set, error) {
	root, errs := parseYAML(document, "it needs at least a list of rules")
	if len(errs) > 0 {
		return nil, errs.in(file)
	}
	d := &decoder{at: map[*Rule]*places{}}
	set := d.set(newValue(root, "", setForm))
	if len(d.errors) > 0 {
		return nil, d.errors.in(file)
	}
	set.prepare()
	for _, w := range d.warn(set).in(file) {
		set.Warnings = append(set.Warnings, w.Error())
	}
	return set, nil
}

func (d *decoder) set(v value) *Set {
	s := &Set{Instances: defaultInstances}
	var secret, plan, plans value
	d.object(v, d.setFields(s, &secret, &plan, &plans))
	switch {
	case s.plan.from.source != literal && !plans.stated():
		d.fail(plan, "names the plans of callers, and there are none: write plans: {pro: {RULE: CAPACITY}}")
	case s.hash != nil && !s.hashesKeys():
		d.fail(secret, "is not used: write hash: true in a rule or in plan, or remove it")
	case plans.stated() && !plan.stated():
		d.fail(plans, "nothing says which plan a caller has: write plan: {from: jwt.plan}")
	}
	for _, r := range s.Rules {
		r.seal()
	}
	return s
}

var setForm = mapOf(func() []field { return new(decoder).setFields(&Set{}, nil, nil, nil) })

func (d *decoder) setFields(s *Set, secret, plan, plans *value) []field {
	onError := OnErrorLocal
	return []field{
		{name: "defaults", doc: "What holds for rules that do not say otherwise.",
			form:   mapOf(func() []field { return d.defaultsFields(s, &onError) }),
			decode: func(v value) { d.object(v, d.defaultsFields(s, &onError)) }},
		{name: "client_ip", doc: "Where the client's address is read when proxies stand before the gateway.",
			form:   mapOf(func() []field { return d.addressFields(&statedAddress{}) }),
			decode: func(v value) { s.address = d.address(v) }},
		{name: "unmatched", doc: "What happens to requests that no rule covers: allow (the default) or deny.",
			form: oneOf(policies), decode: func(v value) { i, _ := d.choice(v); s.Unmatched = Policy(i) }},
		{name: "deny", doc: "Requests that are refused before anything else; any entry is enough.",
			form: listOf(selectorForm, "[{cidrs: [198.51.100.0/24]}]"), decode: func(v value) { s.deny = d.selectors(v) }},
		{name: "skip", doc: "Requests that no rule is asked about; any entry is enough.",
			form: listOf(selectorForm, "[{methods: [GET], route: /health}]"), decode: func(v value) { s.skip = d.selectors(v) }},
		{name: "hash_secret", doc: "The secret by which keys are hashed, where a rule or plan says hash: true.", at: secret,
			form:   mapOf(func() []field { return d.keyHashFields(&keyHash{}) }),
			decode: func(v value) { d.hash = d.keyHash(v); s.hash = d.hash }},
		{name: "plan", doc: "How to find out which plan a caller has.", at: plan,
			form:   mapOf(func() []field { return d.planFields(&s.plan, nil) }),
			decode: func(v value) { d.plan(v, &s.plan) }},
		{name: "rules", doc: "The rules: all that cover a request apply, charged in this order.",
			form:    listOf(ruleForm, "[{name: per-ip, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}]"),
			decode:  func(v value) { s.Rules = d.rules(v, onError) },
			missing: "write rules: [] if the document is meant to limit nothing"},
		{name: "plans", doc: "Capacities by plan, rule and limit, in the place of the rules' own.", at: plans,
			form: plansForm, decode: func(v value) { d.plans(v, s) }},
		{name: "overrides", doc: "What holds for single keys, by rule, or by plan for the plans of callers.",
			form: overridesForm, decode: func(v value) { d.overrides(v, s) }},
	}
}

func (d *decoder) defaultsFields(s *Set, onError *OnError) []field {
	return []field{
		{name: "on_error", doc: "What rules do while their counters cannot be reached: local (the default), allow or deny.",
			form: oneOf(failures), decode: func(v value) { *onError = d.onError(v) }},
		{name: "instances", doc: "How many processes share the load, 20 unless said: what local divides capacities by.",
			form: number(1, math.MaxInt32), decode: func(v value) { n, _ := d.integer(v); s.Instances = int(n) }},
	}
}

func (d *decoder) onError(v value) OnError {
	i, _ := d.choice(v)
	return OnError(i)
}

// selectors decodes the entries of deny or skip.
func (d *decoder) selectors(v value) []selector {
	values := d.list(v)
	selectors := make([]selector, len(values))
	for i, v := range values {
		d.selector(v, &selectors[i], "is empty and would cover every request: write which ones it is for")
	}
	return selectors
}

func (d *decoder) rules(v value, onError OnError) []*Rule {
	values := d.list(v)
	rules := make([]*Rule, len(values))
	names := names{}
	for i, v := range values {
		rules[i] = d.rule(v, onError, names)
	}
	d.checkCounters(rules)
	return rules
}
