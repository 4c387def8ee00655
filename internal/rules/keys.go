package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Keys are those of one caller: by which a rule counts it, and by which its override is found.
type Keys struct {
	Counter  string
	Override string // empty where the rule has none, or where it is not known
	// Missing are the sources that Override would take, such as "jwt.tenant", where neither the key nor the request has them.
	Missing []string
	AsItIs  bool // the text was the key itself, not one with values as they are
}

// KeysFor returns the keys that a person means who typed the rule's own: with values as they are, such as user:auth0|666, or
// as replays and logs print it, such as user:auth0%7C666. req is what is known of the caller besides. The error is ErrLocked
// where a key is to be hashed and cannot be.
func (r *Rule) KeysFor(text string, req *Request) (keys Keys, err error) {
	whole, err := r.template.read(text)
	if err != nil {
		return Keys{}, fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.template.text(), err)
	}
	if keys.Counter, err = r.template.kept(whole); err != nil {
		return Keys{}, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	keys.AsItIs = whole == text
	if r.overridable == nil {
		return keys, nil
	}
	override, missing := r.overrideKeyOf(whole, req)
	if keys.Missing = missing; len(missing) == 0 {
		keys.Override, err = r.overridable.kept(override)
	}
	return keys, err
}

// overrideKeyOf returns the key by which overrides are found: read out of one of the rule's own, and out of a request that
// has no more than its caller's credentials.
func (r *Rule) overrideKeyOf(key string, req *Request) (overrideKey string, missing []string) {
	if slices.Equal(r.overridable.parts, r.template.parts) {
		return key, nil
	}
	values := map[part]string{}
	if !isHashed(key) && (r.template.hash != nil || len(key) < MaxKey) { // else it is not known what it was made from
		values = r.template.values(key)
	}
	var dst []byte
	for _, p := range r.overridable.parts {
		text, inRequest := p.only(req)
		switch value, inKey := values[p]; {
		case p.source == literal:
			dst = append(dst, p.text...)
		case inKey:
			dst = append(dst, value...)
		case inRequest && (p.source == fromClaim || p.source == fromAPIKey):
			dst = appendValue(dst, text)
		default:
			missing = append(missing, p.spell())
		}
	}
	return r.overridable.whole(dst), missing
}

// values reads a key that fits the template apart. Values are as keys have them, escaped.
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
