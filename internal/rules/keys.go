package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/request"
)

// Keys are those of one caller: of its counter and of its overrides.
type Keys struct {
	Counter  string
	Override OverrideKey // of the rule
	Plan     OverrideKey // of the caller's plan
	Exact    bool        // the text was the key itself, not one with plain values
}

// OverrideKey is the key of an override; the zero value if there are no
// overrides.
type OverrideKey struct {
	Key string // empty if it is not known
	// Missing are sources of the key, such as "jwt.tenant", that neither the
	// counter's key nor the request has.
	Missing []string
}

// ResolveKeys returns the keys that a person means by one of a rule's own keys:
// with plain values, such as user:auth0|666, or as replays and logs print it,
// such as user:auth0%7C666. req holds what else is known of the caller. The
// error is ErrHashSecret if a key must be hashed and cannot be.
func (s *Set) ResolveKeys(r *Rule, text string, req *request.Request) (keys Keys, err error) {
	whole, err := r.template.Read(text)
	if err != nil {
		return Keys{}, fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.template.String(), err)
	}
	keys.Exact = whole == text
	if keys.Counter, err = r.template.Stored(whole); err == nil && r.overridable != nil {
		keys.Override.Key, keys.Override.Missing, err = r.overridable.Translate(whole, &r.template, req)
	}
	if err != nil {
		return Keys{}, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	if s.plan.overrides != nil {
		keys.Plan.Key, keys.Plan.Missing, err = s.plan.overrides.Translate(whole, &r.template, req)
	}
	if err != nil {
		return Keys{}, fmt.Errorf("overrides of plan: %w", err)
	}
	return keys, nil
}
