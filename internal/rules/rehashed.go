package rules

// Rehashed reports whether a key under which a table holds an override, of a rule or of PlanOverrides, is a hash that
// another set has made, and this one makes others: by another secret, or of keys that look otherwise. Then no request finds it
// any more.
func (s *Set) Rehashed(from *Set, rule, key string) bool {
	return from.OverridesHashed(rule) && s.OverridesHashed(rule) && isHashed(key) &&
		from.overrideKeys(rule).kinds() != s.overrideKeys(rule).kinds()
}

// Collides reports whether two sets hash keys by different secrets that are to be in the same environment variable: no
// process has both.
func (s *Set) Collides(with *Set) bool {
	return s.hash != nil && with.hash != nil && s.hash.env == with.hash.env && s.hash.check != with.hash.check
}
