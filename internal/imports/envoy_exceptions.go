package imports

import (
	"fmt"
	"slices"
	"strings"
)

// ban makes an entry of deny of a limit of no requests; it reports false where that would say something else.
func (im *envoy) ban(path []*step) bool {
	last := path[len(path)-1]
	if last.shadow {
		return false
	}
	d := denial{comment: last.spot.text + ": " + chain(path)}
	for _, s := range path {
		if len(s.rivals()) > 0 {
			return false
		}
		switch cidr, _, isNetwork := s.network(); {
		case s.source == always:
		case s.source == "ip" && isNetwork && d.cidr == "" && !s.isGeneral():
			d.cidr = cidr
		case s.where.field != "" && !s.isSigned() && d.selector.narrow(s.where):
		default:
			return false
		}
	}
	if d.cidr == "" && len(d.selector) == 0 {
		return false
	}
	im.doc.deny = append(im.doc.deny, d)
	im.note(last.spot, "requests_per_unit: 0", "it is in deny: clients are told that they are blocked, and not of a limit")
	return true
}

// override makes an exception for one value of the key that a more general rule counts by. It reports whether it is of
// the kind that overrides can say, and if so why this one cannot be said; nothing if it is.
func (im *envoy) override(path []*step) (why string, tried bool) {
	s := path[len(path)-1]
	general := s.family.general
	if general == nil || general.rule == nil || s.isWild() || s.source != general.source || !s.isWhole(path) {
		return "", false
	}
	limited := s.isLimited()
	if limited && s.shadow != general.shadow {
		return "", false
	}
	key := s.meaning.value
	if s.source == "ip" {
		if _, key, _ = s.network(); key == "" {
			return "is no IPv4 address: overrides are for one address, and IPv6 addresses count by their /64", true
		}
	}
	if len(key) > longestValue {
		return "is longer than what an override can be for", true
	}
	own, rule := bound{}, general.rule
	if limited {
		own = fixed(s.limit)
	}
	if s.isClient() && (!limited || own.capacity > rule.limit.capacity || own.window != rule.limit.window) {
		return "a client can send what it likes there, so no value may be limited less than the others: " +
			"map the key to what a token or an API key says", true
	}
	if limited && own.capacity == 0 && s.shadow {
		return "requests_per_unit is 0, and a deny is never in shadow mode", true
	}
	rule.exceptions = append(rule.exceptions, exception{s.spot.text, s.prefix() + keyValue(key), says(limited, own, rule.limit)})
	return "", true
}

// longestValue is the longest value that an override is written for, in bytes: escaped, it is three times as long.
const longestValue = 4096

// isWhole reports whether nothing but the last step of a path fills the key, and overrides can say that.
func (s *step) isWhole(path []*step) bool {
	if s.source == "path" || s.source == "route" || s.source == "method" || s.source == always {
		return false
	}
	return !slices.ContainsFunc(path[:len(path)-1], (*step).counts)
}

// says returns an override that makes of a limit another.
func says(limited bool, own, general bound) string {
	switch {
	case !limited:
		return "{unlimited: true}"
	case own.capacity == 0:
		return "{deny: true}"
	case own.window == general.window:
		return fmt.Sprintf("{capacity: %d}", own.capacity)
	}
	return "{limits: [" + own.String() + "]}"
}

// maxExempt bounds the values in all of unless: descriptors below each other could multiply them.
const maxExempt = 100_000

// except makes the exceptions from the rule at the end of a path that its more specific neighbours ask for, at each step.
func (im *envoy) except(path []*step) {
	r := path[len(path)-1].rule
	if r == nil {
		return
	}
	for i, s := range path {
		var unsaid []string
		for _, rival := range s.rivals() {
			if i == len(path)-1 && rival.settled {
				continue
			}
			if im.exempt >= maxExempt || rival.why != "" || !r.unless.widen(rival.where) {
				unsaid = append(unsaid, rival.descriptor.String())
				continue
			}
			im.exempt++
		}
		if len(unsaid) > 0 {
			im.lose(path[len(path)-1].spot, fmt.Sprintf("rule %s: all but %s", r.name, someOf(unsaid)),
				"unless cannot say this exception here: the rule limits these requests too")
		}
	}
}

// someOf names a few.
func someOf(words []string) string {
	const few = 3
	if len(words) <= few {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:few], ", "), len(words)-few)
}

// replace makes the exceptions that replaces asks for: a limit does not count a request that another one replaces it for.
func (im *envoy) replace() {
	for _, by := range im.limited {
		for _, name := range by.limit.replaces {
			found := false
			for _, s := range im.limited {
				if s.limit.name == name && s.rule != nil && by.rule != nil && s != by {
					im.replaced(s.rule, by)
					found = true
				}
			}
			if !found {
				im.lose(by.spot, "replaces: "+show(name), "takes two rules, and one of them is missing: it is listed, or no limit has that name")
			}
		}
	}
}

// replaced lets one rule give way to another.
func (im *envoy) replaced(r *rule, by *step) {
	if len(r.unless)+len(by.rule.unless) > 0 || len(by.rule.when) == 0 || by.rule.key != "all" {
		im.lose(by.spot, fmt.Sprintf("replaces: rule %s beside rule %s", by.rule.name, r.name),
			"unless cannot say when the other one applies: both limit a request that both are for")
		return
	}
	r.unless = slices.Clone(by.rule.when)
}
