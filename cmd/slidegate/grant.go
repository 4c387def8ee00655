package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

type grantFlags struct {
	tableFlags
	noteFlags
	until, span string
}

func (c *cli) grantCommand() *cobra.Command {
	var f grantFlags
	cmd := &cobra.Command{
		Use:   "grant RULE[.LIMIT] KEY +N --for TIME --why TEXT --rules dynamodb://TABLE",
		Short: "Raise a key's capacity for a while",
		Long: `Grant adds units to what one key may take in a window, on top of what the rule, the caller's plan or an override
says. It takes effect within ten seconds and ends by itself. Several grants add up. What was counted stays.`,
		Example: `  slidegate grant api tenant:acme +500 --for 1h --why "import of their archive" --rules dynamodb://slidegate-rules
  slidegate grant chat.tokens user:7 +100000 --until 2026-12-31T00:00:00Z --why "ticket 83" --rules dynamodb://slidegate-rules`,
		Args:              positional(3, 3, "a rule or RULE.LIMIT, a key and +N"),
		ValidArgsFunction: inTurn(f.limitNames(), f.overrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.grant(cmd, &f, args[0], args[1], args[2]) },
	}
	f.tableFlags.add(cmd)
	f.noteFlags.add(cmd)
	cmd.Flags().StringVar(&f.span, "for", "", "how long it is to last, a `TIME` such as 90m, 12h or 7d")
	cmd.Flags().StringVar(&f.until, "until", "", "or when it ends, a `TIME` such as 2026-12-31T23:59:00Z")
	return cmd
}

// granted is what grant --json prints.
type granted struct {
	Rule  string `json:"rule"`
	Limit string `json:"limit"` // empty for a rule's only limit
	Key   string `json:"key"`
	Add   int64  `json:"add"`
	From  int64  `json:"from_capacity"` // of a caller without a plan
	To    int64  `json:"to_capacity"`
	// ByPlan says that callers with a plan have other capacities, which are raised as much.
	ByPlan bool      `json:"by_plan,omitempty"`
	Until  time.Time `json:"until"`
}

func (c *cli) grant(cmd *cobra.Command, f *grantFlags, policy, text, units string) error {
	now := time.Now()
	rule, limit, _ := strings.Cut(policy, ".")
	if rule == rules.PlanOverrides {
		return usagef(cmd, "a grant raises a limit, and plan is none: name a rule")
	}
	g, err := f.given(cmd, units, now)
	if err != nil {
		return err
	}
	g.Limit = limit
	target, err := f.target(cmd, rule, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), publishTime)
	defer cancel()
	told, err := target.grant(ctx, g, now)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, told)
	}
	p := printer{w: c.stdout}
	p.line("%s of %s goes from %s to %s until %s", policyOf(told.Rule, told.Limit), told.Key, thousands(told.From), thousands(told.To), stamp(told.Until))
	if told.ByPlan {
		p.line("for callers with a plan it is %s above what their plan says", thousands(told.Add))
	}
	return p.err
}

// given returns what the flags say of a grant.
func (f *grantFlags) given(cmd *cobra.Command, units string, now time.Time) (g ruletable.Grant, err error) {
	if g.Note, err = f.note(cmd, now); err != nil {
		return g, err
	}
	if g.Add, err = parseGrant(cmd, units); err != nil {
		return g, err
	}
	if g.Until, err = parseUntil(cmd, f.until, f.span, now); err == nil && g.Until.IsZero() {
		err = usagef(cmd, "--for is missing: how long the grant is to last, such as --for 1h")
	}
	return g, err
}

func parseGrant(cmd *cobra.Command, text string) (int64, error) {
	digits, plus := strings.CutPrefix(text, "+")
	n, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	if err != nil || !plus || n < 1 || n > limit.MaxCapacity {
		return 0, usagef(cmd, "%q: want how much more, such as +500; `slidegate overrides set` lowers a limit", text)
	}
	return n, nil
}

// grant checks a grant as an override would be, and gives it.
func (t *overrideTarget) grant(ctx context.Context, g ruletable.Grant, now time.Time) (*granted, error) {
	o, told, err := t.said(now).decides(ctx, t.rule, t.key)
	if err != nil {
		return nil, err
	}
	if told != nil && told.InForce && (told.Deny || told.Unlimited) {
		return nil, fmt.Errorf("the override of %s for %s says %s: a grant would change nothing", t.rule, t.key, told.says())
	}
	raised, err := t.raise(o, g, now)
	if err != nil {
		return nil, err
	}
	g.Limit = raised.Limit
	return raised, t.table.Grant(ctx, t.rule, t.key, g)
}

// raise says what a grant comes to beside an override, nil for none.
func (t *overrideTarget) raise(o *rules.Override, g ruletable.Grant, now time.Time) (*granted, error) {
	rule, err := ruleNamed(t.set, t.rule)
	if err != nil {
		return nil, err
	}
	from := rule.Terms(&rules.Request{}, "", o, now).Limits
	i := indexOf(from, g.Limit)
	if i < 0 {
		return nil, t.noLimit(o, from, g.Limit)
	}
	told := &granted{Rule: t.rule, Limit: from[i].Name, Key: t.key, Add: g.Add, From: from[i].Capacity, Until: g.Until}
	raised := rules.Override{}
	if o != nil {
		raised = *o
	}
	one := rules.Grant{Limit: told.Limit, Add: g.Add, Until: g.Until}
	check := rules.Override{Limits: raised.Limits, Costs: raised.Costs, Grants: []rules.Grant{one}}
	if err := t.set.CheckOverride(t.rule, t.key, &check); err != nil {
		return nil, apart("", err)
	}
	raised.Grants = append(slices.Clip(raised.Grants), one)
	if told.To = rule.Terms(&rules.Request{}, "", &raised, now).Limits[i].Capacity; told.To == told.From {
		return nil, fmt.Errorf("%s cannot hold more than %s", policyOf(t.rule, told.Limit), thousands(told.To))
	}
	told.ByPlan = slices.ContainsFunc(t.set.Plans(), func(plan string) bool {
		terms := rule.Terms(&rules.Request{}, plan, &raised, now)
		return terms.Unlimited || terms.Limits[i].Capacity != told.To
	})
	return told, nil
}

// indexOf finds a limit by its name, -1 for none; "" is an only one.
func indexOf(limits []limit.Limit, name string) int {
	return slices.IndexFunc(limits, func(l limit.Limit) bool { return l.Name == name || name == "" && len(limits) == 1 })
}

// noLimit says what to write for a limit that is not among those of the key, by its override or the rule.
func (t *overrideTarget) noLimit(o *rules.Override, limits []limit.Limit, name string) error {
	whose := "rule " + t.rule
	if o != nil && o.Limits != nil {
		whose = fmt.Sprintf("the override of %s for %s", t.rule, t.key)
	}
	policies := make([]string, len(limits))
	for i := range limits {
		policies[i] = policyName(t.rule, &limits[i])
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
