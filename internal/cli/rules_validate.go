package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) validateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a rules file",
		Long: `Validate reads a rules file as a limiter would, and says everything that is wrong with it, each with its line,
its column and what to write instead. It warns about what is allowed but likely to let too much through.`,
		Example: `  slidegate rules validate rules.yaml
  slidegate rules validate rules.yaml --json`,
		Args:              flags.Positional(1, 1, "one rules file"),
		ValidArgsFunction: flags.InTurn(flags.FilesOf("yaml", "yml")),
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return c.validate(args[0], *asJSON) }
	return cmd
}

func (c *cli) validate(file string, asJSON bool) error {
	r, err := operator.Validate(file)
	switch {
	case err != nil:
		return err
	case r.Valid && !asJSON:
		operator.WarnAll(c, r.Warnings)
	case !r.Valid && !asJSON:
		return r.Errors
	}
	print := func(p *term.Printer, r *operator.ValidateReport) { printRules(p, file, r) }
	if err := show(c.stdout, asJSON, r, print); err != nil || r.Valid {
		return err
	}
	return fmt.Errorf("%s: %s", file, text.Plural(len(r.Errors), "error"))
}

// printRules prints the rules and their limits.
func printRules(p *term.Printer, file string, r *operator.ValidateReport) {
	p.Line("%s is valid: %s, unmatched requests: %s", file, text.Plural(len(r.Rules), "rule"), r.Unmatched)
	var limits, plans, more [][]string
	for i := range r.Rules {
		rule := &r.Rules[i]
		for j := range rule.Limits {
			l := &rule.Limits[j]
			limits = append(limits, []string{
				engine.PolicyName(rule.Name, l.Name), text.Thousands(l.Capacity), l.WindowText(), l.Detail(), l.Algorithm, rule.OnError,
				rule.Key,
			})
		}
		if also := unusual(rule); also != "" {
			more = append(more, []string{rule.Name, also})
		}
	}
	for _, plan := range r.Plans {
		plans = append(plans, planRows(r, plan)...)
	}
	p.Section("lrrrlll", []string{"limit", "capacity", "window", "detail", "algorithm", "on error", "key"}, limits)
	p.Section("lll", []string{"plan", "limit", "capacity"}, plans)
	p.Section("ll", []string{"rule", "also"}, more)
	if source, overrides := r.PlanSource, overridesText(r.PlanOverrideKeys, r.PlanOverrides); source != "" || overrides != "" {
		p.Line("")
		p.Line("plan of a caller: %s", strings.TrimPrefix(source+overrides, "; "))
	}
}

// overridesText describes how overrides are looked up; empty for none.
func overridesText(keys string, here int) string {
	if keys == "" {
		return ""
	}
	return fmt.Sprintf("; overrides by %s, %s of them here", keys, text.Thousands(here))
}

// planRows describe the limits of a plan.
func planRows(r *operator.ValidateReport, plan string) (rows [][]string) {
	for i := range r.Rules {
		rule := &r.Rules[i]
		limits, ok := rule.Plans[plan]
		if ok && limits.Unlimited {
			rows = append(rows, []string{plan, rule.Name, "unlimited"})
		}
		for j := range rule.Limits {
			if capacity, ok := limits.Capacity[rule.Limits[j].Name]; ok {
				rows = append(rows, []string{plan, engine.PolicyName(rule.Name, rule.Limits[j].Name), text.Thousands(capacity)})
			}
		}
	}
	return rows
}

// unusual lists what is unusual about a rule.
func unusual(r *operator.RuleReport) string {
	var words []string
	say := func(condition bool, format string, args ...any) {
		if condition {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(r.Mode == rules.Shadow.String(), "shadow")
	say(r.Mode == rules.Off.String(), "off")
	say(r.Hashed, "keys hashed")
	say(r.Atomic, "atomic")
	say(r.Quiet, "no headers")
	for i := range r.Limits {
		l := &r.Limits[i]
		name := engine.PolicyName(r.Name, l.Name)
		say(costText(l) != "", "%s costs %s", name, costText(l))
		say(l.Candidate != "", "%s has candidate %s", name, l.Candidate)
		say(l.AnchorFrom != "", "%s starts on the day that %s says", name, l.AnchorFrom)
	}
	overrides := strings.TrimPrefix(overridesText(r.OverrideKeys, r.Overrides), "; ")
	say(overrides != "", "%s", overrides)
	say(len(r.RefundOn) > 0, "refunds on %s", strings.Join(r.RefundOn, ", "))
	return strings.Join(words, "; ")
}

// costText describes the cost of a request; empty for one unit.
func costText(l *operator.LimitReport) string {
	cost := ""
	switch {
	case l.CostFrom != "":
		cost = fmt.Sprintf("%s, %s to %s", l.CostFrom, text.Thousands(l.CostMin), text.Thousands(l.Cost))
	case l.Cost != 1:
		cost = text.Thousands(l.Cost)
	case l.Settle:
		cost = "1"
	}
	if l.Settle {
		cost += ", settled afterwards"
	}
	return cost
}
