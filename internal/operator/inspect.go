package operator

import (
	"context"
	"fmt"

	"github.com/slidegate/slidegate/internal/rules"
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
