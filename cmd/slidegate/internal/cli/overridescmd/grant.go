package overridescmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// GrantCommand returns slidegate grant.
func GrantCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var g ruletable.Grant
	cmd := &cobra.Command{
		Use:   "grant RULE[.LIMIT] KEY +N --for TIME --why TEXT --rules dynamodb://TABLE",
		Short: "Raise a key's capacity for a while",
		Long: `Grant adds units to what one key may take in a window, on top of the rule's capacity, the caller's plan or an
override. It takes effect within ten seconds and ends by itself. Several grants add up. Counts stay.`,
		Example: `  slidegate grant api tenant:acme +500 --for 1h --why "import of their archive" --rules dynamodb://slidegate-rules
  slidegate grant chat.tokens user:7 +100000 --until 2026-12-31T00:00:00Z --why "ticket 83" --rules dynamodb://slidegate-rules`,
		Args: flags.Positional(3, 3, "a rule or RULE.LIMIT, a key and +N"),
	}
	where.AddTable(cmd)
	flags.Note(cmd, &g.Note, nil)
	flags.Until(cmd, &g.Until, "or when it ends")
	flags.Refuse(cmd, func() bool { return g.Until.IsZero() }, "--for is missing: how long the grant lasts, such as --for 1h")
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (_ *operator.GrantedReport, err error) {
		var rule string
		if rule, g.Limit, _ = strings.Cut(args[0], "."); rule == rules.PlanOverrides {
			return nil, flags.Usagef("a grant raises a limit, and plan is none: name a rule")
		}
		if g.Add, err = parseUnits(args[2]); err != nil {
			return nil, err
		}
		target, err := operator.FindKey(ctx, where.RulesTable, rule, args[1])
		if err != nil {
			return nil, err
		}
		return target.Grant(ctx, g)
	}, printGranted)
}

func parseUnits(given string) (int64, error) {
	digits, plus := strings.CutPrefix(given, "+")
	units, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	if err != nil || !plus || units < 1 || units > limit.MaxCapacity {
		return 0, flags.Usagef("%q: want how much more, such as +500; `slidegate overrides set` lowers a limit", given)
	}
	return units, nil
}

func printGranted(p *term.Printer, r *operator.GrantedReport) {
	p.Line("%s of %s goes from %s to %s until %s", engine.PolicyName(r.Rule, r.Limit), r.Key, text.Thousands(r.From),
		text.Thousands(r.To), text.Stamp(r.Until))
	if r.ByPlan {
		p.Line("for callers with a plan it is %s above their plan's capacity", text.Thousands(r.Add))
	}
}
