package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// GrantedReport says what a grant has changed.
type GrantedReport struct {
	Rule  string `json:"rule"`
	Limit string `json:"limit"` // empty for a rule's only limit
	Key   string `json:"key"`
	Add   int64  `json:"add"`
	From  int64  `json:"from_capacity"` // of a caller without a plan
	To    int64  `json:"to_capacity"`
	// ByPlan says that callers with a plan have other capacities, which are raised
	// by the same units.
	ByPlan bool      `json:"by_plan,omitempty"`
	Until  time.Time `json:"until"`
}

// Grant checks a grant against the rules and the key's override, and gives it.
func (t *OverrideTarget) Grant(ctx context.Context, g ruletable.Grant) (*GrantedReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	o, report, err := newLookup(t.set, t.table, g.When).overlay(ctx, t.Rule, t.Key)
	if err != nil {
		return nil, err
	}
	if report != nil && report.InForce && (report.Deny || report.Unlimited) {
		return nil, fmt.Errorf("the override of %s for %s says %s: a grant would change nothing", t.Rule, t.Key, report.summary())
	}
	granted, err := t.raise(o, g)
	if err != nil {
		return nil, err
	}
	g.Limit = granted.Limit
	return granted, t.table.Grant(ctx, t.Rule, t.Key, g)
}

// raise reports what a grant changes on top of an override; nil for none.
func (t *OverrideTarget) raise(o *rules.Override, g ruletable.Grant) (*GrantedReport, error) {
	rule, err := ruleNamed(t.set, t.Rule)
	if err != nil {
		return nil, err
	}
	terms := func(plan string, o *rules.Override) *rules.Terms {
		return rule.Terms(&request.Request{}, plan, o, g.When)
	}
	from := terms("", o).Limits
	i := slices.IndexFunc(from, func(l limit.Limit) bool { return l.Name == g.Limit || g.Limit == "" && len(from) == 1 })
	if i < 0 {
		return nil, t.noLimit(o, from, g.Limit)
	}
	report := &GrantedReport{Rule: t.Rule, Limit: from[i].Name, Key: t.Key, Add: g.Add, From: from[i].Capacity, Until: g.Until}
	raised := rules.Override{}
	if o != nil {
		raised = *o
	}
	one := rules.Grant{Limit: report.Limit, Add: g.Add, Until: g.Until}
	check := rules.Override{Limits: raised.Limits, Costs: raised.Costs, Grants: []rules.Grant{one}}
	if err := t.set.CheckOverride(t.Rule, t.Key, &check); err != nil {
		return nil, err
	}
	raised.Grants = append(slices.Clip(raised.Grants), one)
	if report.To = terms("", &raised).Limits[i].Capacity; report.To == report.From {
		return nil, fmt.Errorf("%s is at %s already, the most that a limit can have", engine.PolicyName(t.Rule, report.Limit),
			text.Thousands(report.To))
	}
	report.ByPlan = slices.ContainsFunc(t.set.Plans(), func(plan string) bool {
		planned := terms(plan, &raised)
		return planned.Unlimited || planned.Limits[i].Capacity != report.To
	})
	return report, nil
}

// noLimit says what to write instead of a limit that the key does not have.
func (t *OverrideTarget) noLimit(o *rules.Override, limits []limit.Limit, name string) error {
	whose := "rule " + t.Rule
	if o != nil && o.Limits != nil {
		whose = fmt.Sprintf("the override of %s for %s", t.Rule, t.Key)
	}
	policies := make([]string, len(limits))
	for i := range limits {
		policies[i] = engine.PolicyName(t.Rule, limits[i].Name)
	}
	which := strings.Join(policies, " or ")
	switch {
	case name == "":
		return fmt.Errorf("%s has several limits: write %s", whose, which)
	case len(limits) == 1 && limits[0].Name == "":
		return fmt.Errorf("%s has one limit, without a name: write %s alone", whose, which)
	}
	return fmt.Errorf("%s has no limit %q: write %s", whose, name, which)
}
