package rules

import "fmt"

// warn returns what is allowed but likely to let too much through: rules that count only by what the client says. A client
// that makes up a new value for every request is never limited by them.
func (d *decoder) warn(s *Set) Errors {
	var warnings Errors
	for _, r := range s.Rules {
		if len(r.template.client) == 0 || s.hasBackstop(r) {
			continue
		}
		warnings = append(warnings, d.keys[r].problem(fmt.Sprintf(
			"the client can make up a new value of %s for every request and is then never limited: "+
				"add a rule with a key such as \"ip:{ip}\" for the same requests",
			enumerate(r.template.client, "and"))))
	}
	return warnings
}

// hasBackstop reports whether another rule limits the same requests by what the gateway says of them. Only a rule for
// every request, or one for requests that are described in the same words, is sure to.
func (s *Set) hasBackstop(r *Rule) bool {
	for _, other := range s.Rules {
		if len(other.template.client) == 0 && other.counts() && (other.when.everything() || other.when.sameAs(&r.when)) {
			return true
		}
	}
	return false
}

// counts reports whether a request takes anything from the rule's limits.
func (r *Rule) counts() bool {
	for _, c := range r.Costs {
		if c > 0 {
			return true
		}
	}
	return false
}
