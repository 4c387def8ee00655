package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
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
func (s *Set) KeysFor(r *Rule, text string, req *request.Request) (keys Keys, err error) {
	whole, err := r.template.Read(text)
	if err != nil {
		return Keys{}, fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.template.String(), err)
	}
	keys.AsItIs = whole == text
	if keys.Counter, err = r.template.Stored(whole); err == nil {
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
func (r *Rule) keyOf(overrides *key.Template, key string, req *request.Request) (found OverrideKey, err error) {
	if overrides == nil {
		return OverrideKey{}, nil
	}
	values, readable := r.template.Values(key)
	if !readable && overrides.MakesSameKeys(&r.template) {
		found.Key = key // both templates make the same key
	} else {
		var whole []byte
		if whole, found.Missing = overrides.Fill(values, req); len(found.Missing) > 0 {
			return found, nil
		}
		found.Key = overrides.Whole(whole)
	}
	found.Key, err = overrides.Stored(found.Key)
	return found, err
}
