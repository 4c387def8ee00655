package imports

import (
	"cmp"
	"fmt"
	"strings"
)

// limit makes a rule of the limit at the end of a path.
func (im *envoy) limit(path []*step) {
	s := path[len(path)-1]
	r := &rule{order: s.rank, comment: s.spot.text + ": " + chain(path), shadow: s.shadow, limit: fixed(s.limit)}
	if why := im.cover(r, path); why != "" {
		im.lose(s.spot, chain(path), why)
		return
	}
	words := []string{im.domain}
	if s.limit.name != "" {
		words = append(words, s.limit.name)
	} else {
		for _, s := range path {
			words = append(words, s.key, s.descriptor.value)
		}
	}
	r.name = im.names.take(words...)
	s.rule = r
	im.doc.rules = append(im.doc.rules, r)
}

func fixed(l *envoyLimit) bound { return bound{"fixed_window", l.requests, l.window, 0} }

// cover fills in which requests a rule is for and what it counts by, or says why it cannot.
func (im *envoy) cover(r *rule, path []*step) (why string) {
	if r.limit.capacity == 0 {
		return "requests_per_unit is 0: a limit is 1 at least, and deny takes addresses, methods and paths"
	}
	var parts []string
	for _, s := range path {
		if s.why != "" {
			return s.why
		}
		if s.where.field != "" && !r.when.narrow(s.where) {
			return fmt.Sprintf("it asks for two values of %s at once", s.source)
		}
		if s.counts() {
			parts = append(parts, s.part())
		}
		if s.where.field == "" && s.isSigned() {
			r.when.narrow(criterion{"caller", []string{"known"}})
		}
		im.differs(s)
	}
	if r.key = cmp.Or(strings.Join(parts, "|"), "all"); len(r.key) > longestKey {
		return "its key would be too long: map its keys to shorter names"
	}
	return ""
}

// longestKey is the longest key template of a rules document.
const longestKey = 256

// part returns the part of a key that the step's values fill.
func (s *step) part() string {
	source := s.source
	if source == "path" {
		source = "route"
	}
	return s.prefix() + "{" + source + "}"
}

// prefix is the step's key as far as a template can have it.
func (s *step) prefix() string {
	name := strings.Map(func(c rune) rune {
		if c < 0x80 && (isLetter(byte(c)) || isDigit(byte(c)) || strings.ContainsRune("_.-", c)) {
			return c
		}
		return '-'
	}, s.key)
	return name[:min(len(name), 32)] + ":"
}

// differs notes in what a count comes out another way than it did.
func (im *envoy) differs(s *step) {
	if s.where.field == "path" {
		im.note(s.spot, "the exact spelling of paths", "patterns ignore letter case and what cleaning changes, so that no spelling slips past: "+
			"/X and /x/ are /x, and /x/** covers /x")
	}
	switch {
	case s.counts() && s.source == "path":
		im.note(s.spot, "a counter for each path", "here it is one for each route of the gateway: a client can make up paths without end")
	case s.counts() && strings.EqualFold(s.key, "masked_remote_address"):
		im.note(s.spot, "the mask of addresses", "the proxy's configuration has it: here IPv4 addresses count one by one, IPv6 addresses by their /64")
	case s.counts() && s.source == "ip":
		im.note(s.spot, "IPv6 addresses one by one", "here they count by their /64: a host has all of it to choose from")
	case s.isSigned() && s.where.field == "":
		im.note(s.spot, "callers without "+s.source, "the proxy does not count them: here those who are known count, all together")
	case s.isGeneral() && s.isClient() && s.source != "method":
		im.note(s.spot, "requests without "+s.source, "the proxy does not count them: here they count, all together")
	}
}
