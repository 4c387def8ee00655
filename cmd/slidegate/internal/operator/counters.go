package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// KeyOptions name a key whose counters a command looks at.
type KeyOptions struct {
	Locations session.Locations
	Rule      string // empty for every rule that could have made the key
	Key       string // with values as they are, or as replays and logs print it
	// Request has the caller's credentials: plans, and the first days of months,
	// depend on its claims.
	Request *request.Request
}

// keySession resolves and reads the counters of keys.
type keySession struct {
	*session.Session
	lookup *OverrideLookup
	store  limit.Store
	req    *request.Request
}

// openKeys opens the rules and the counters. The caller closes the session.
func openKeys(ctx context.Context, o *KeyOptions) (*keySession, error) {
	s, err := session.Open(ctx, o.Locations, session.LoadHashSecret)
	if err != nil {
		return nil, err
	}
	return &keySession{s, NewLookup(s.Rules, s.Table(), s.Now()), s.Counters(), o.Request}, nil
}

// counter is the counter of one key of a rule, for the caller's plan.
type counter struct {
	engine.Resolution
	plan engine.Plan
	keys rules.Keys
}

// bypassNames are the reasons why no counter decides, as reports have them.
var bypassNames = map[engine.Bypass]string{
	engine.Refused: "refused", engine.Unlimited: "unlimited", engine.ErrorDenies: "denied",
}

// counter resolves the counter of a key. It fails if an override cannot be read.
func (s *keySession) counter(ctx context.Context, rule *rules.Rule, keys rules.Keys) (*counter, error) {
	plan := s.lookup.PlanByKey(ctx, s.req, keys.Plan.Key)
	if plan.Err != nil {
		return nil, plan.Err
	}
	resolution := s.lookup.ResolveKey(ctx, rule, s.req, plan.Name, keys.Counter, keys.Override.Key)
	if err := resolution.Terms.Err; err != nil {
		return nil, fmt.Errorf("rule %s: %w", rule.Name, err)
	}
	return &counter{resolution, plan, keys}, nil
}

// keysOf returns the keys that a text can mean, by rule. A text that is the exact
// key of some rules does not also mean a key with plain values of other rules.
// skipped names rules that hash their keys and lack the secret to compare.
func keysOf(set *rules.Set, candidates []*rules.Rule, text string, req *request.Request) (found map[*rules.Rule]rules.Keys, skipped []error, err error) {
	found = map[*rules.Rule]rules.Keys{}
	var problems []error
	var exact bool
	for _, rule := range candidates {
		keys, err := set.ResolveKeys(rule, text, req)
		switch {
		case errors.Is(err, key.ErrHashSecret):
			skipped = append(skipped, err)
		case err != nil:
			problems = append(problems, err)
		default:
			found[rule] = keys
			exact = exact || keys.Exact
		}
	}
	if exact {
		maps.DeleteFunc(found, func(_ *rules.Rule, keys rules.Keys) bool { return !keys.Exact })
	}
	switch {
	case len(found) > 0:
		return found, skipped, nil
	case len(skipped) > 0:
		return nil, nil, errors.Join(skipped...)
	}
	return nil, nil, fmt.Errorf("no rule counts this key: %w", errors.Join(problems...))
}

// FlagsFor names the flags that set sources such as jwt.tenant; empty if no flag
// sets one of them.
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

// InspectReport shows what a key has used of each limit that counts it.
type InspectReport struct {
	Key   string          `json:"key"`
	Rules []CounterReport `json:"rules"`
}

// CounterReport describes a key's counter of one rule.
type CounterReport struct {
	Rule     string          `json:"rule"`
	Counter  string          `json:"counter"`
	Override *OverrideReport `json:"override,omitempty"`
	// OverrideUnknown are the sources that the key of an override would need;
	// there may be such an override.
	OverrideUnknown     []string        `json:"override_unknown,omitempty"`
	PlanOverride        *OverrideReport `json:"plan_override,omitempty"` // denies everything to the caller
	PlanOverrideUnknown []string        `json:"plan_override_unknown,omitempty"`
	Lifted              string          `json:"lifted,omitempty"` // no counter decides: unlimited, or refused by an override
	Limits              []UsageReport   `json:"limits"`
}

// Inspect reads the counters of a key. It charges nothing.
func Inspect(ctx context.Context, o *KeyOptions, listener Listener) (*InspectReport, error) {
	s, err := openKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	candidates := s.Rules.Rules
	if o.Rule != "" {
		rule, err := RuleNamed(s.Rules, o.Rule)
		if err != nil {
			return nil, err
		}
		candidates = []*rules.Rule{rule}
	}
	found, skipped, err := keysOf(s.Rules, candidates, o.Key, o.Request)
	if err != nil {
		return nil, err
	}
	for _, reason := range skipped {
		listener.Warn("skipped %v", reason)
	}
	report := &InspectReport{Key: o.Key}
	for _, rule := range candidates {
		if keys, ok := found[rule]; ok {
			one, err := s.inspect(ctx, rule, keys)
			if err != nil {
				return nil, err
			}
			report.Rules = append(report.Rules, one)
		}
	}
	return report, nil
}

// inspect describes a counter. It reads none that requests would not charge.
func (s *keySession) inspect(ctx context.Context, rule *rules.Rule, keys rules.Keys) (report CounterReport, err error) {
	c, err := s.counter(ctx, rule, keys)
	if err != nil {
		return report, err
	}
	report = CounterReport{
		Rule: rule.Name, Counter: c.Charge.Key, Override: s.lookup.report(rule.Name, keys.Override.Key, c.Terms.Override),
		OverrideUnknown: keys.Override.Missing, Lifted: bypassNames[c.Bypass()], Limits: []UsageReport{},
	}
	if c.plan.Denied {
		report.PlanOverride, report.Lifted = s.lookup.report(rules.PlanOverrides, c.plan.Key, c.plan.Override), bypassNames[engine.Refused]
	}
	if len(s.req.Claims) > 0 || s.req.APIKey != "" {
		report.PlanOverrideUnknown = keys.Plan.Missing
	}
	if report.Lifted != "" {
		return report, nil
	}
	var v limit.Verdict
	if err := s.store.Peek(ctx, s.Now(), &c.Charge, &v); err != nil {
		return report, fmt.Errorf("rule %s: %w", rule.Name, err)
	}
	report.Limits = reportUsages(&c.Resolution, &v)
	return report, nil
}

// ResetReport describes a counter that was reset.
type ResetReport struct {
	Rule    string `json:"rule"`
	Key     string `json:"key"`
	Counter string `json:"counter"`
	Reset   bool   `json:"reset"`

	// The table whose history records the reset, by whom and why; "" for rules in a file.
	Table string `json:"table,omitempty"`
	Who   string `json:"who,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Reset deletes the counter of a key of a rule. If the rules are in a table,
// their history records it with the note.
func Reset(ctx context.Context, o *KeyOptions, note ruletable.Note, listener Listener) (*ResetReport, error) {
	s, err := openKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	bounded, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	rule, err := RuleNamed(s.Rules, o.Rule)
	if err != nil {
		return nil, err
	}
	keys, err := s.Rules.ResolveKeys(rule, o.Key, o.Request)
	if err != nil {
		return nil, err
	}
	c, err := s.counter(bounded, rule, keys)
	if err != nil {
		return nil, err
	}
	if err := c.checkOverrideKey(listener); err != nil {
		return nil, err
	}
	if err := s.store.Reset(bounded, c.Charge.Key); err != nil {
		return nil, err
	}
	report := &ResetReport{Rule: rule.Name, Key: keys.Counter, Counter: c.Charge.Key, Reset: true}
	// The history comes last: a missing line is reported here, but a line too
	// many would mislead its readers.
	if s.lookup.table != nil {
		ctx, cancel := context.WithTimeout(ctx, session.LookTime) // however long the reset took
		defer cancel()
		if err := s.lookup.table.RecordReset(ctx, rule.Name, keys.Counter, c.Charge.Key, note); err != nil {
			return nil, fmt.Errorf("the counter %s is reset, but the history does not record it: %w", c.Charge.Key, err)
		}
		report.Table, report.Who, report.Why = o.Locations.RulesTable, note.Who, note.Why
	}
	return report, nil
}

// checkOverrideKey refuses a key whose override is not known, as the override
// may have a counter of its own. It only warns if no flag could name the key.
func (c *counter) checkOverrideKey(listener Listener) error {
	missing := c.keys.Override.Missing
	if len(missing) == 0 {
		return nil
	}
	what := fmt.Sprintf("rule %s: the key of its override holds %s, and an override may have a counter of its own",
		c.Rule.Name, strings.Join(missing, ", "))
	if flags := FlagsFor(missing); flags != "" {
		return fmt.Errorf("%s: give %s", what, flags)
	}
	listener.Warn("%s, which stays", what)
	return nil
}
