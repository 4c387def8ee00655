package cli

import (
	"errors"
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
		Use:   "validate FILE...",
		Short: "Check rules files",
		Long: `Validate reads rules files as a limiter would. It reports every error with its line, its column and what to
write instead, and warns of valid rules that are probably not meant. It fails if one of the files is not valid;
- is standard input.`,
		Example: `  slidegate rules validate rules.yaml
  slidegate rules validate stages/*.yaml --json
  envsubst < rules.yaml.in | slidegate rules validate -`,
		Args:              flags.Positional(1, -1, "at least one rules file, or - for standard input"),
		ValidArgsFunction: flags.FilesOf("yaml", "yml"),
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return c.validate(args, *asJSON) }
	return cmd
}

func (c *cli) validate(files []string, asJSON bool) error {
	var r operator.ValidateReport
	for _, file := range files {
		if file == stdinName {
			r.Validate("standard input", c.stdin)
		} else {
			r.ValidateFile(file)
		}
	}
	if err := show(c.stdout, asJSON, &r, c.printValidation); err != nil || r.Valid {
		return err
	}
	var invalid []error
	for i := range r.Files {
		if f := &r.Files[i]; !f.Valid && asJSON {
			invalid = append(invalid, fmt.Errorf("%s: %s", f.File, text.Plural(len(f.Errors), "error")))
		} else if !f.Valid {
			invalid = append(invalid, f.Errors)
		}
	}
	return errors.Join(invalid...)
}

// printValidation prints the files that are valid. The errors of the others go
// to standard error.
func (c *cli) printValidation(p *term.Printer, r *operator.ValidateReport) {
	printed := 0
	for i := range r.Files {
		f := &r.Files[i]
		if !f.Valid {
			continue
		}
		if printed++; printed > 1 {
			p.Line("")
		}
		for _, w := range f.Warnings {
			c.Warn("%s", w.Error())
		}
		printRules(p, f)
	}
}

// printRules prints the rules and their limits.
func printRules(p *term.Printer, r *operator.FileReport) {
	p.Line("%s is valid: %s, unmatched requests: %s", r.File, text.Plural(len(r.Rules), "rule"), r.Unmatched)
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
func planRows(r *operator.FileReport, plan string) (rows [][]string) {
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
	say(r.Lease > 0, "leases up to %s charges", text.Thousands(r.Lease))
	say(r.Quiet, "no headers")
	for i := range r.Limits {
		l := &r.Limits[i]
		name := engine.PolicyName(r.Name, l.Name)
		say(costText(l) != "", "%s costs %s", name, costText(l))
		say(l.CandidateText() != "", "%s has candidate %s", name, l.CandidateText())
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
