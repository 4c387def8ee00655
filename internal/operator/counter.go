package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// KeyOptions name a key whose counters a command looks at.
type KeyOptions struct {
	Locations session.Locations
	Rule      string // empty for every rule that could have made the key
	Key       string // with values as they are, or as replays and logs print it
	// Request has what is known of the caller besides the key: plans, and the
	// first days of months, depend on its claims.
	Request *request.Request
}

// keySession resolves the counters of keys.
type keySession struct {
	*session.Session
	lookup   *overrideLookup
	resolver *engine.Resolver
	req      *request.Request
}

// openKeys opens the rules and the counters. The caller closes the session.
func openKeys(ctx context.Context, o *KeyOptions) (*keySession, error) {
	s, err := session.OpenQuietly(ctx, o.Locations, session.LoadHashSecret)
	if err != nil {
		return nil, err
	}
	_, now := s.Shared()
	lookup := newLookup(s.Rules, s.Table(), now())
	return &keySession{s, lookup, lookup.resolver(), o.Request}, nil
}

// counter is the counter of one key of a rule, and what it would say of the
// next request.
type counter struct {
	engine.Resolution
	plan    engine.Plan
	keys    rules.Keys
	verdict limit.Verdict
}

// bypassNames are the reasons not to ask a counter, as reports have them.
var bypassNames = map[engine.Bypass]string{
	engine.Refused: "refused", engine.Unlimited: "unlimited", engine.ErrorAllows: "allowed", engine.ErrorDenies: "denied",
}

// lifted says why the counter is not asked; empty if it is.
func (c *counter) lifted() string {
	if c.plan.Denied {
		return bypassNames[engine.Refused]
	}
	return bypassNames[c.Bypass()]
}

// counter resolves the counter of a key. It fails if an override cannot be read.
func (s *keySession) counter(ctx context.Context, rule *rules.Rule, keys rules.Keys) (*counter, error) {
	plan := s.resolver.PlanByKey(ctx, s.req, keys.Plan.Key)
	if plan.Err != nil {
		return nil, plan.Err
	}
	resolution := s.resolver.ResolveKey(ctx, rule, s.req, plan.Name, keys.Counter, keys.Override.Key)
	if resolution.Err != nil {
		return nil, fmt.Errorf("rule %s: %w", rule.Name, resolution.Err)
	}
	return &counter{Resolution: resolution, plan: plan, keys: keys}, nil
}

// counters resolves the counters of a key: the named rule's, or those of every
// rule that could have made it. skipped says why other rules are left out.
func (s *keySession) counters(ctx context.Context, name, key string) (counters []*counter, skipped []error, err error) {
	candidates := s.Rules.Rules
	if name != "" {
		rule, err := ruleNamed(s.Rules, name)
		if err != nil {
			return nil, nil, err
		}
		candidates = []*rules.Rule{rule}
	}
	keys, skipped, err := keysOf(s.Rules, candidates, key, s.req)
	if err != nil {
		return nil, nil, err
	}
	for _, rule := range candidates {
		if keys, ok := keys[rule]; ok {
			c, err := s.counter(ctx, rule, keys)
			if err != nil {
				return nil, nil, err
			}
			counters = append(counters, c)
		}
	}
	return counters, skipped, nil
}

// keysOf returns the keys that a text can mean, by rule. A text that is a key of
// some rules as it stands is no other key of other rules. skipped names rules
// that hash their keys, and lack the secret to compare.
func keysOf(set *rules.Set, candidates []*rules.Rule, text string, req *request.Request) (keys map[*rules.Rule]rules.Keys, skipped []error, err error) {
	asItIs, typed := map[*rules.Rule]rules.Keys{}, map[*rules.Rule]rules.Keys{}
	var problems []error
	for _, rule := range candidates {
		keys, err := set.KeysFor(rule, text, req)
		switch {
		case errors.Is(err, key.ErrHashSecret):
			skipped = append(skipped, err)
		case err != nil:
			problems = append(problems, err)
		case keys.AsItIs:
			asItIs[rule] = keys
		default:
			typed[rule] = keys
		}
	}
	switch {
	case len(asItIs) > 0:
		return asItIs, skipped, nil
	case len(typed) > 0:
		return typed, skipped, nil
	case len(skipped) > 0:
		return nil, nil, errors.Join(skipped...)
	}
	return nil, nil, fmt.Errorf("no rule counts this key: %w", errors.Join(problems...))
}

// FlagsFor says by which flags sources such as jwt.tenant are given; empty if
// no flag gives one of them.
func FlagsFor(sources []string) string {
	var flags []string
	for _, source := range sources {
		name, isClaim := strings.CutPrefix(source, "jwt.")
		switch {
		case isClaim && strings.HasPrefix(name, "/"):
			flags = append(flags, "--claims JSON with "+name)
		case isClaim:
			flags = append(flags, "--claim "+name+"=VALUE")
		case source == "apikey":
			flags = append(flags, "--apikey ID")
		default:
			return ""
		}
	}
	return strings.Join(flags, " ")
}
