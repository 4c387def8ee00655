package keyscmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// GrantCommand returns slidegate grant.
func GrantCommand(c *command.Console) *cobra.Command {
	var rule string
	var g ruletable.Grant
	cmd := &cobra.Command{
		Use:   "grant RULE[.LIMIT] KEY +N --for TIME --why TEXT --rules dynamodb://TABLE",
		Short: "Raise a key's capacity for a while",
		Long: `Grant adds units to what one key may take in a window, on top of the rule's capacity, the caller's plan or an
override. It takes effect within ten seconds and ends by itself. Several grants add up. Counts stay. The rule
needs overrides: true, which costs a read for each key, cached ten seconds.`,
		Example: `  slidegate grant api tenant:acme +500 --for 1h --why "import of their archive" --rules dynamodb://slidegate-rules
  slidegate grant chat.tokens user:7 +100000 --until 2026-12-31T00:00:00Z --why "ticket 83" --rules dynamodb://slidegate-rules`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			if err = command.Positional(3, 3, "a rule or RULE.LIMIT, a key and +N")(cmd, args); err != nil {
				return err
			}
			if rule, g.Limit, _ = strings.Cut(args[0], "."); rule == rules.PlanOverrides {
				return command.Usagef("a grant raises a limit, and plan is none: name a rule")
			}
			g.Add, err = parseUnits(args[2])
			return err
		},
	}
	command.Note(cmd, &g.Note, nil)
	command.Until(cmd, &g.Until, "or when it ends")
	command.Refuse(cmd, func() bool { return g.Until.IsZero() }, "--for is missing: how long the grant lasts, such as --for 1h")
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, args []string) (*grantReport, error) {
		t, err := open(ctx, table, rule, args[1])
		if err != nil {
			return nil, err
		}
		return t.grant(ctx, g)
	}, printGranted)
}

func parseUnits(given string) (int64, error) {
	digits, plus := strings.CutPrefix(given, "+")
	units, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	if err != nil || !plus || units < 1 || units > limit.MaxCapacity {
		return 0, command.Usagef("%q: want how much more, such as +500; `slidegate overrides set` lowers a limit", given)
	}
	return units, nil
}

func printGranted(p *command.Printer, r *grantReport) {
	p.Line("%s of %s goes from %s to %s until %s", engine.PolicyName(r.Rule, r.Limit), r.Key, text.Thousands(r.From),
		text.Thousands(r.To), text.Stamp(r.Until))
	if r.ByPlan {
		p.Line("for callers with a plan it is %s above their plan's capacity", text.Thousands(r.Add))
	}
}

// grantReport says what a grant has changed.
type grantReport struct {
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

// grant checks a grant against the rules and the key's override, and gives it.
func (t target) grant(ctx context.Context, g ruletable.Grant) (*grantReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	o, report, err := operator.NewLookup(t.Set, t.Table, g.When).Overlay(ctx, t.Rule, t.Key)
	if err != nil {
		return nil, err
	}
	if report != nil && report.InForce && (report.Deny || report.Unlimited) {
		return nil, fmt.Errorf("the override of %s for %s says %s: a grant would change nothing", t.Rule, t.Key, report.Summary())
	}
	granted, err := t.raise(o, g)
	if err != nil {
		return nil, err
	}
	g.Limit = granted.Limit
	return granted, t.Grant(ctx, t.Rule, t.Key, g)
}

// raise reports what a grant changes on top of an override; nil for none.
func (t target) raise(o *rules.Override, g ruletable.Grant) (*grantReport, error) {
	rule, err := operator.RuleNamed(t.Set, t.Rule)
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
	report := &grantReport{Rule: t.Rule, Limit: from[i].Name, Key: t.Key, Add: g.Add, From: from[i].Capacity, Until: g.Until}
	raised := rules.Override{}
	if o != nil {
		raised = *o
	}
	one := rules.Grant{Limit: report.Limit, Add: g.Add, Until: g.Until}
	check := rules.Override{Limits: raised.Limits, Costs: raised.Costs, Grants: []rules.Grant{one}}
	if err := t.Set.CheckOverride(t.Rule, t.Key, &check); err != nil {
		return nil, err
	}
	raised.Grants = append(slices.Clip(raised.Grants), one)
	if report.To = terms("", &raised).Limits[i].Capacity; report.To == report.From {
		return nil, fmt.Errorf("%s is at %s already, the most that a limit can have", engine.PolicyName(t.Rule, report.Limit),
			text.Thousands(report.To))
	}
	report.ByPlan = slices.ContainsFunc(t.Set.Plans(), func(plan string) bool {
		planned := terms(plan, &raised)
		return planned.Unlimited || planned.Limits[i].Capacity != report.To
	})
	return report, nil
}

// noLimit says what to write instead of a limit that the key does not have.
func (t target) noLimit(o *rules.Override, limits []limit.Limit, name string) error {
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
