package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Keys are those of one caller: by which a rule counts it, and by which its override is found.
type Keys struct {
	Counter  string
	Override string // empty where the rule has none, or where they cannot be read out of the counter's
	AsItIs   bool   // the text was the key itself, not one with values as they are
}

// KeysFor returns the keys that a person means who typed the rule's own: with values as they are, such as user:auth0|666, or
// as replays and logs print it, such as user:auth0%7C666. The error is ErrLocked where a key is to be hashed and cannot
// be.
func (r *Rule) KeysFor(text string) (keys Keys, err error) {
	whole, err := r.template.read(text)
	if err != nil {
		return Keys{}, fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.template.text(), err)
	}
	if keys.Counter, err = r.template.kept(whole); err != nil {
		return Keys{}, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	keys.AsItIs = whole == text
	if override, ok := r.overrideKeyOf(whole); ok {
		keys.Override, err = r.overridable.kept(override)
	}
	return keys, err
}

// overrideKeyOf reads the key by which overrides are found out of one of the rule's own. It is ok where that can be done:
// not where the rule has no overrides, nor where their keys hold more than the rule's.
func (r *Rule) overrideKeyOf(key string) (overrideKey string, ok bool) {
	switch {
	case r.overridable == nil:
		return "", false
	case slices.Equal(r.overridable.parts, r.template.parts):
		return key, true
	case isHashed(key) || r.template.hash == nil && len(key) == MaxKey:
		return "", false // what it was made from is not known
	}
	values := r.template.values(key)
	var dst []byte
	for _, p := range r.overridable.parts {
		value, ok := values[p]
		if p.source == literal {
			value, ok = p.text, true
		}
		if !ok {
			return "", false
		}
		dst = append(dst, value...)
	}
	return r.overridable.whole(dst), true
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
