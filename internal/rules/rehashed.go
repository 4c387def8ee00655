package rules

import "strings"

// Rehashed reports whether a key under which a table holds an override, of a rule or of PlanOverrides, is a hash that
// another set may have made, and this one makes others: by another secret, or of keys that look otherwise.
func (s *Set) Rehashed(from *Set, rule, key string) bool {
	if from == nil || !from.OverridesHashed(rule) || !s.OverridesHashed(rule) || !isHashed(key) {
		return false
	}
	was, is := from.overrideKeys(rule), s.overrideKeys(rule)
	return was.hash.check != is.hash.check || was.outline() != is.outline()
}

// outline writes what all keys of the template have in common: where their values stand, whatever these come from.
func (t *template) outline() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.source == literal {
			b.WriteString(p.text)
		} else {
			b.WriteString("{}")
		}
	}
	return b.String()
}

// Collides reports whether two sets hash keys by different secrets that are to be in the same environment variable: no
// process has both.
func (s *Set) Collides(with *Set) bool {
	return s.hash != nil && with.hash != nil && s.hash.env == with.hash.env && s.hash.check != with.hash.check
}
