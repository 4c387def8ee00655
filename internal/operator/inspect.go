package operator

import (
	"context"
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

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
	Lifted              string          `json:"lifted,omitempty"` // no counter is asked: unlimited, or refused by an override
	Limits              []UsageReport   `json:"limits"`
}

// Inspect reads the counters of a key. It charges nothing.
func Inspect(ctx context.Context, o *KeyOptions, listener Listener) (*InspectReport, error) {
	s, err := openKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, session.CallTime)
	defer cancel()
	candidates := s.Rules.Rules
	if o.Rule != "" {
		rule, err := ruleNamed(s.Rules, o.Rule)
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

// inspect describes a counter. It does not ask one that requests would not ask.
func (s *keySession) inspect(ctx context.Context, rule *rules.Rule, keys rules.Keys) (report CounterReport, err error) {
	c, err := s.counter(ctx, rule, keys)
	if err != nil {
		return report, err
	}
	report = CounterReport{
		Rule: rule.Name, Counter: c.Charge.Key, Override: s.lookup.report(rule.Name, c.OverrideKey, c.Override),
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
}

// Reset deletes the counter of a key of a rule. If the rules are in a table,
// their history records it with the note.
func Reset(ctx context.Context, o *KeyOptions, note ruletable.Note, listener Listener) (*ResetReport, error) {
	s, err := openKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, session.CallTime)
	defer cancel()
	rule, err := ruleNamed(s.Rules, o.Rule)
	if err != nil {
		return nil, err
	}
	keys, err := s.Rules.KeysFor(rule, o.Key, o.Request)
	if err != nil {
		return nil, err
	}
	c, err := s.counter(ctx, rule, keys)
	if err != nil {
		return nil, err
	}
	if err := c.checkOverrideKey(listener); err != nil {
		return nil, err
	}
	if err := s.store.Reset(ctx, c.Charge.Key); err != nil {
		return nil, err
	}
	// The history comes last: a missing line is reported here, but a line too
	// many would mislead its readers.
	if s.lookup.table != nil {
		if err := s.lookup.table.RecordReset(ctx, rule.Name, keys.Counter, c.Charge.Key, note); err != nil {
			return nil, fmt.Errorf("the counter %s is reset, but the history does not record it: %w", c.Charge.Key, err)
		}
	}
	return &ResetReport{Rule: rule.Name, Key: keys.Counter, Counter: c.Charge.Key, Reset: true}, nil
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
