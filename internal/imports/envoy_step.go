package imports

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// step is a descriptor on the way from the top of its list to a limit, and what it stands for.
type step struct {
	*descriptor
	meaning
	family  *family
	where   criterion // the requests that it is for; none for a step that is for all values
	why     string    // where cannot say it; nothing if it can
	rule    *rule     // of the limit at this step; nil for none
	settled bool      // the more general steps beside this one need no unless for it
}

// family holds the steps of one list that have a key in common: the service takes the first of exact, of wild in their
// order, and of general that a request's value fits.
type family struct {
	exact, wild []*step
	general     *step
}

func (s *step) isWild() bool { return strings.Contains(s.meaning.value, "*") }

// isGeneral reports whether the step takes every value.
func (s *step) isGeneral() bool { return strings.Trim(s.descriptor.value, "*") == "" }

// counts reports whether each value that the step takes has a counter of its own.
func (s *step) counts() bool {
	return s.source != always && !s.shared && (s.isGeneral() || s.isWild())
}

// isClient reports whether a client can write what it likes there.
func (s *step) isClient() bool {
	word, _, _ := strings.Cut(s.source, ".")
	return word == "header" || word == "query" || word == "path" && s.source != "path" || word == "method"
}

func (s *step) isSigned() bool { return s.source == "apikey" || strings.HasPrefix(s.source, "jwt.") }

// isLimited reports whether the step ends in a limit of its own.
func (s *step) isLimited() bool { return s.limit != nil && !s.limit.unlimited }

// join adds a step to its family. It returns one that is never taken, where there are two for all values: a wildcard comes
// before no value at all.
func (f *family) join(s *step) (dead *step) {
	s.family = f
	switch {
	case !s.isGeneral() && s.isWild():
		f.wild = append(f.wild, s)
	case !s.isGeneral():
		f.exact = append(f.exact, s)
	case f.general == nil:
		f.general = s
	case f.general.descriptor.value == "":
		dead, f.general = f.general, s
	default:
		dead, s.family = s, nil
	}
	return dead
}

// isCovered reports whether a rule for more values than the step's own covers them too.
func (s *step) isCovered() bool {
	f := s.family
	for _, w := range append(f.wild[:len(f.wild):len(f.wild)], f.general) {
		if w != nil && w.rule != nil && slices.Contains(w.rivals(), s) {
			return true
		}
	}
	return false
}

// isAlone reports whether nothing stands beside the step that it could be an exception from.
func (s *step) isAlone() bool { return s.family.general == nil && len(s.family.wild) == 0 }

// rivals returns the steps that take some of the values first.
func (s *step) rivals() []*step {
	f := s.family
	switch {
	case s.isGeneral():
		return append(f.exact[:len(f.exact):len(f.exact)], f.wild...)
	case !s.isWild():
		return nil
	}
	var rivals []*step
	for _, e := range f.exact {
		if wildcardTakes(s.descriptor.value, e.descriptor.value) {
			rivals = append(rivals, e)
		}
	}
	for _, w := range f.wild {
		if w == s {
			break
		}
		if mayMeet(w.descriptor.value, s.descriptor.value) {
			rivals = append(rivals, w)
		}
	}
	return rivals
}

// wildcardTakes reports whether a pattern takes a value, as wildcardMatch of src/config/config_impl.go has it: a star is
// any text.
func wildcardTakes(pattern, value string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(value, parts[0])
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, parts[last]); !ok {
		return false
	}
	for _, p := range parts[1:max(1, last)] {
		if _, rest, ok = strings.Cut(rest, p); !ok {
			return false
		}
	}
	return true
}

// mayMeet reports whether two patterns may take the same value, by what stands before their first stars.
func mayMeet(a, b string) bool {
	a, _, _ = strings.Cut(a, "*")
	b, _, _ = strings.Cut(b, "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// locate decides which requests the step is for.
func (s *step) locate() {
	text := s.meaning.value
	switch {
	case s.source == always || s.isGeneral():
		return
	case s.source == "path" || s.source == "route":
		if text, s.why = pathPattern(text); s.why == "" {
			s.where = criterion{s.source, []string{text}}
		}
	case s.isWild():
		s.why = "values are compared whole here: list the values one by one"
	case s.source == "method":
		s.where = criterion{"methods", []string{text}}
	case s.isSigned():
		s.where = criterion{s.source, []string{text}}
	case s.isClient():
		s.why = "a client can send what it likes there, so no rule can be for one value: map the key to what a token or an API key says"
	default:
		s.why = fmt.Sprintf("no rule can be for one value of %s alone: an override can, beside a limit for all values in the same mode", s.source)
	}
	if field := s.where.field; field == "path" || field == "route" || field == "methods" {
		if s.why = refused("all", selector{s.where}); s.why != "" {
			s.where = criterion{}
		}
	}
}

// pathPattern turns a value with wildcards into a pattern of paths: a star that takes any text becomes ** where it is
// alone between slashes, or at the end.
func pathPattern(value string) (pattern, why string) {
	switch {
	case !strings.HasPrefix(value, "/"):
		return "", "a path begins with a slash"
	case strings.Contains(value, "?"):
		return "", "patterns do not see the query string"
	}
	segments := strings.Split(path.Clean(value)[1:], "/")
	for i, s := range segments {
		switch before, _ := strings.CutSuffix(s, "*"); {
		case s == "*":
			segments[i] = "**"
		case !strings.Contains(s, "*"):
		case i == len(segments)-1 && !strings.Contains(before, "*"):
			segments = append(segments, "**")
		default:
			return "", "a star takes slashes too, which no pattern can say here: write the paths out"
		}
	}
	return "/" + strings.Join(segments, "/"), ""
}

// network returns what deny and override keys call an address; ok is false for what is none.
func (s *step) network() (cidr, key string, ok bool) {
	if c, err := netip.ParsePrefix(s.meaning.value); err == nil && c == c.Masked() && !c.Addr().Is4In6() {
		return c.String(), "", true
	}
	addr, err := netip.ParseAddr(s.meaning.value)
	if err != nil || addr.Zone() != "" || addr.Is4In6() {
		return "", "", false
	}
	if addr.Is4() {
		key = addr.String()
	}
	return netip.PrefixFrom(addr, addr.BitLen()).String(), key, true
}
