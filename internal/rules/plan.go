package rules

// planSource says how to find out which plan a caller has.
type planSource struct {
	from      part      // trusted; a literal where the document has no plans
	overrides *template // of the keys of plan overrides; nil where there are none
}

// Plan returns the plan that the request itself names, as its token or its API key says: "" for none, and for one that the
// document does not know.
func (s *Set) Plan(req *Request) string {
	if s.plan.from.source == literal {
		return ""
	}
	name, _ := s.plan.from.only(req)
	return s.knownPlan(name)
}

// knownPlan returns the name of a plan as it is; "" where the document has none of that name.
func (s *Set) knownPlan(name string) string {
	for _, known := range s.plans {
		if known == name {
			return name
		}
	}
	return ""
}

// Standing returns the plan of a caller and, where an override says so, that everything is denied to it. o is the plan
// override of the caller, nil for none. One that names a plan which the document does not have leaves the caller with none,
// never again with the one that it was taken from. misfit says that something of the override was left out.
func (s *Set) Standing(req *Request, o *Override, inForce bool) (plan string, denied, misfit bool) {
	switch {
	case !inForce:
		return s.Plan(req), false, false
	case o.Deny:
		return "", true, false
	case o.Plan == "":
		return s.Plan(req), false, true
	}
	plan = s.knownPlan(o.Plan)
	return plan, false, plan == ""
}

// AppendPlanKey appends the key by which overrides of plans are found; ok is false where there are none.
func (s *Set) AppendPlanKey(dst []byte, req *Request) (key []byte, ok bool) {
	if s.plan.overrides == nil {
		return dst, false
	}
	return s.plan.overrides.key(dst, req, &selector{}), true
}

// AppendOverrideKey appends the key by which the rule's overrides are found; ok is false where it has none. The request
// must be one that the rule matches.
func (r *Rule) AppendOverrideKey(dst []byte, req *Request) (key []byte, ok bool) {
	if r.overridable == nil {
		return dst, false
	}
	return r.overridable.key(dst, req, &r.when), true
}

// TakesOverrides reports whether the rule says that it has overrides besides those of the document: only then is there
// anything to look up elsewhere.
func (r *Rule) TakesOverrides() bool { return r.overridable != nil && !r.writtenOnly }

// Override returns what the document itself says of a key; nil for nothing. rule may be PlanOverrides.
func (s *Set) Override(rule, key string) *Override {
	if s.hashed != nil {
		if hashed, ok := s.hashed()[rule]; ok {
			return hashed[key]
		}
	}
	return s.overrides[rule][key]
}
