package operator

import (
	"context"
	"fmt"
	"strings"

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
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	counters, skipped, err := s.counters(ctx, o.Rule, o.Key)
	if err != nil {
		return nil, err
	}
	for _, reason := range skipped {
		listener.Warn("skipped %v", reason)
	}
	report := &InspectReport{Key: o.Key}
	for _, c := range counters {
		if err := s.peek(ctx, c); err != nil {
			return nil, err
		}
		report.Rules = append(report.Rules, s.report(c))
	}
	return report, nil
}

// peek reads a counter, unless requests would not ask it.
func (s *keySession) peek(ctx context.Context, c *counter) error {
	if c.lifted() != "" {
		return nil
	}
	store, now := s.Shared()
	if err := store.Peek(ctx, now(), &c.Charge, &c.verdict); err != nil {
		return fmt.Errorf("rule %s: %w", c.Rule.Name, err)
	}
	return nil
}

func (s *keySession) report(c *counter) CounterReport {
	report := CounterReport{
		Rule: c.Rule.Name, Counter: c.Charge.Key, Override: s.lookup.report(c.Rule.Name, c.OverrideKey, c.Override),
		OverrideUnknown: c.keys.Override.Missing, Lifted: c.lifted(), Limits: []UsageReport{},
	}
	if c.plan.Denied {
		report.PlanOverride = s.lookup.report(rules.PlanOverrides, c.plan.Key, c.plan.Override)
	}
	if len(s.req.Claims) > 0 || s.req.APIKey != "" {
		report.PlanOverrideUnknown = c.keys.Plan.Missing
	}
	for i := range c.Terms.Limits {
		if report.Lifted == "" {
			report.Limits = append(report.Limits, reportUsage(&c.Terms.Limits[i], c.Charge.Costs[i], &c.verdict.Limits[i]))
		}
	}
	return report
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
	report, err := s.reset(ctx, o, listener)
	if err != nil {
		return nil, err
	}
	return report, s.recordReset(ctx, report, note)
}

func (s *keySession) reset(ctx context.Context, o *KeyOptions, listener Listener) (*ResetReport, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	rule, err := ruleNamed(s.Rules, o.Rule)
	if err != nil {
		return nil, err
	}
	keys, err := s.Rules.KeysFor(rule, o.Key, s.req)
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
	store, _ := s.Shared()
	if err := store.Reset(ctx, c.Charge.Key); err != nil {
		return nil, err
	}
	return &ResetReport{Rule: rule.Name, Key: keys.Counter, Counter: c.Charge.Key, Reset: true}, nil
}

// recordReset writes the reset into the history. The counter comes first: a
// missing line is reported here, but a line too many would mislead its readers.
func (s *keySession) recordReset(ctx context.Context, r *ResetReport, note ruletable.Note) error {
	if s.lookup.table == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if err := s.lookup.table.RecordReset(ctx, r.Rule, r.Key, r.Counter, note); err != nil {
		return fmt.Errorf("the counter %s is reset, but the history does not record it: %w", r.Counter, err)
	}
	return nil
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
