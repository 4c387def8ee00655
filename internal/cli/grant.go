package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

type grantFlags struct {
	flags.Table
	flags.Note
	flags.Until
}

func (c *cli) grantCommand() *cobra.Command {
	var f grantFlags
	cmd := &cobra.Command{
		Use:   "grant RULE[.LIMIT] KEY +N --for TIME --why TEXT --rules dynamodb://TABLE",
		Short: "Raise a key's capacity for a while",
		Long: `Grant adds units to what one key may take in a window, on top of the rule's capacity, the caller's plan or an
override. It takes effect within ten seconds and ends by itself. Several grants add up. Counts stay.`,
		Example: `  slidegate grant api tenant:acme +500 --for 1h --why "import of their archive" --rules dynamodb://slidegate-rules
  slidegate grant chat.tokens user:7 +100000 --until 2026-12-31T00:00:00Z --why "ticket 83" --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(3, 3, "a rule or RULE.LIMIT, a key and +N"),
		ValidArgsFunction: flags.InTurn(f.LimitNames(), f.OverrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.grant(cmd, &f, args[0], args[1], args[2]) },
	}
	f.Table.Add(cmd)
	f.Note.Add(cmd)
	f.Until.Add(cmd, "how long it lasts, a `TIME` such as 90m, 12h or 7d", "or when it ends, a `TIME` such as 2026-12-31T23:59:00Z")
	return cmd
}

func (c *cli) grant(cmd *cobra.Command, f *grantFlags, policy, key, units string) error {
	rule, limitName, _ := strings.Cut(policy, ".")
	if rule == rules.PlanOverrides {
		return flags.Usagef(cmd, "a grant raises a limit, and plan is none: name a rule")
	}
	g, err := f.read(cmd, units, time.Now())
	if err != nil {
		return err
	}
	g.Limit = limitName
	target, err := findKey(cmd, &f.Table, rule, key)
	if err != nil {
		return err
	}
	r, err := target.Grant(cmd.Context(), g)
	return c.report(f.JSON, r, err, func(p *term.Printer) {
		p.Line("%s of %s goes from %s to %s until %s", engine.PolicyName(r.Rule, r.Limit), r.Key, text.Thousands(r.From), text.Thousands(r.To), text.Stamp(r.Until))
		if r.ByPlan {
			p.Line("for callers with a plan it is %s above their plan's capacity", text.Thousands(r.Add))
		}
	})
}

// read returns the grant that the flags describe.
func (f *grantFlags) read(cmd *cobra.Command, units string, now time.Time) (g ruletable.Grant, err error) {
	if g.Note, err = f.Note.Read(cmd, now); err != nil {
		return g, err
	}
	digits, plus := strings.CutPrefix(units, "+")
	g.Add, err = strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	if err != nil || !plus || g.Add < 1 || g.Add > limit.MaxCapacity {
		return g, flags.Usagef(cmd, "%q: want how much more, such as +500; `slidegate overrides set` lowers a limit", units)
	}
	if g.Until, err = f.Until.Read(cmd, now); err == nil && g.Until.IsZero() {
		err = flags.Usagef(cmd, "--for is missing: how long the grant lasts, such as --for 1h")
	}
	return g, err
}
