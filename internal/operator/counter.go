package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/slidegate/slidegate/internal/engine"
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

// keySession resolves and reads the counters of keys.
type keySession struct {
	*session.Session
	lookup *overrideLookup
	store  session.Store
	req    *request.Request
}

// openKeys opens the rules and the counters. The caller closes the session.
func openKeys(ctx context.Context, o *KeyOptions) (*keySession, error) {
	s, err := session.OpenQuietly(ctx, o.Locations, session.LoadHashSecret)
	if err != nil {
		return nil, err
	}
	return &keySession{s, newLookup(s.Rules, s.Table(), s.Now()), s.Counters(), o.Request}, nil
}

// counter is the counter of one key of a rule, for the caller's plan.
type counter struct {
	engine.Resolution
	plan engine.Plan
	keys rules.Keys
}

// bypassNames are the reasons not to ask a counter, as reports have them.
var bypassNames = map[engine.Bypass]string{
	engine.Refused: "refused", engine.Unlimited: "unlimited", engine.ErrorAllows: "allowed", engine.ErrorDenies: "denied",
}

// counter resolves the counter of a key. It fails if an override cannot be read.
func (s *keySession) counter(ctx context.Context, rule *rules.Rule, keys rules.Keys) (*counter, error) {
	plan := s.lookup.PlanByKey(ctx, s.req, keys.Plan.Key)
	if plan.Err != nil {
		return nil, plan.Err
	}
	resolution := s.lookup.ResolveKey(ctx, rule, s.req, plan.Name, keys.Counter, keys.Override.Key)
	if resolution.Err != nil {
		return nil, fmt.Errorf("rule %s: %w", rule.Name, resolution.Err)
	}
	return &counter{resolution, plan, keys}, nil
}

// keysOf returns the keys that a text can mean, by rule. A text that is a key of
// some rules as it stands is no other key of other rules. skipped names rules
// that hash their keys, and lack the secret to compare.
func keysOf(set *rules.Set, candidates []*rules.Rule, text string, req *request.Request) (found map[*rules.Rule]rules.Keys, skipped []error, err error) {
	found = map[*rules.Rule]rules.Keys{}
	var problems []error
	var asItIs bool
	for _, rule := range candidates {
		keys, err := set.KeysFor(rule, text, req)
		switch {
		case errors.Is(err, key.ErrHashSecret):
			skipped = append(skipped, err)
		case err != nil:
			problems = append(problems, err)
		default:
			found[rule] = keys
			asItIs = asItIs || keys.AsItIs
		}
	}
	if asItIs {
		maps.DeleteFunc(found, func(_ *rules.Rule, keys rules.Keys) bool { return !keys.AsItIs })
	}
	switch {
	case len(found) > 0:
		return found, skipped, nil
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
