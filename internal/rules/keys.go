package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Keys are those of one caller: of its counter and of its overrides.
type Keys struct {
	Counter  string
	Override OverrideKey // of the rule
	Plan     OverrideKey // of the caller's plan
	AsItIs   bool        // the text was the key itself, not one with plain values
}

// OverrideKey is the key of an override; the zero value if there are no
// overrides.
type OverrideKey struct {
	Key string // empty if it is not known
	// Missing are sources of the key, such as "jwt.tenant", that neither the
	// counter's key nor the request has.
	Missing []string
}

// KeysFor returns the keys that a person means by one of a rule's own keys:
// with plain values, such as user:auth0|666, or as replays and logs print it,
// such as user:auth0%7C666. req holds what else is known of the caller. The
// error is ErrHashSecret if a key must be hashed and cannot be.
func (s *Set) KeysFor(r *Rule, text string, req *Request) (keys Keys, err error) {
	whole, err := r.template.read(text)
	if err != nil {
		return Keys{}, fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.template.text(), err)
	}
	keys.AsItIs = whole == text
	if keys.Counter, err = r.template.kept(whole); err == nil {
		keys.Override, err = r.keyOf(r.overridable, whole, req)
	}
	if err != nil {
		return Keys{}, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	if keys.Plan, err = r.keyOf(s.plan.overrides, whole, req); err != nil {
		return Keys{}, fmt.Errorf("overrides of plan: %w", err)
	}
	return keys, nil
}

// keyOf returns the key of overrides. It takes values from one of the rule's
// own keys, and from a request with no more than its caller's credentials.
func (r *Rule) keyOf(overrides *template, key string, req *Request) (found OverrideKey, err error) {
	if overrides == nil {
		return OverrideKey{}, nil
	}
	values, readable := r.known(key)
	if !readable && overrides.isLike(&r.template) {
		found.Key = key // both templates make the same key
	} else {
		var whole []byte
		if whole, found.Missing = overrides.fill(values, req); len(found.Missing) > 0 {
			return found, nil
		}
		found.Key = overrides.whole(whole)
	}
	found.Key, err = overrides.kept(found.Key)
	return found, err
}

// isLike reports whether two templates make the same keys.
func (t *template) isLike(other *template) bool {
	return slices.Equal(t.parts, other.parts) && (t.hash == nil) == (other.hash == nil)
}

// known returns the values in a key, escaped; readable is false for a key that
// is a hash or ends in one.
func (r *Rule) known(key string) (values map[part]string, readable bool) {
	if isHashed(key) || r.template.hash == nil && len(key) == MaxKey {
		return nil, false
	}
	return r.template.values(key), true
}

// fill makes a key of values, and of the credentials in a request for sources
// without one. missing are the sources that neither has.
func (t *template) fill(values map[part]string, req *Request) (key []byte, missing []string) {
	for _, p := range t.parts {
		text, inRequest := p.only(req)
		switch value, inKey := values[p]; {
		case p.source == literal:
			key = append(key, p.text...)
		case inKey:
			key = append(key, value...)
		case inRequest && p.ofCredentials():
			key = appendValue(key, text)
		default:
			missing = append(missing, p.spell())
		}
	}
	return key, missing
}

// values splits a key that fits the template. Values stay escaped.
func (t *template) values(key string) map[part]string {
	values := map[part]string{}
	for _, p := range t.parts {
		n := len(p.text)
		if p.source != literal {
			if n = strings.IndexAny(key, ":|"); n < 0 {
				n = len(key)
			}
			values[p] = key[:n]
		}
		key = key[n:]
	}
	return values
}
