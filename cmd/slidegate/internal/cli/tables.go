package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
)

type tablesReport struct {
	Tables []session.TableReport `json:"tables"`
}

func tablesCreateCommand(c *command.Console) *cobra.Command {
	var counters, rules string
	cmd := &cobra.Command{
		Use:   "create [--counters TABLE] [--rules TABLE]",
		Short: "Create the tables for counters and rules",
		Long: `Create makes the tables that do not exist yet, on demand, and waits until they can be used. A table that
exists stays as it is, but for its expiry, which counters need. Deployments by infra make their own.`,
		Example: `  slidegate tables create --counters slidegate-counters --rules slidegate-rules`,
		Args:    command.NoArguments,
	}
	command.Table(cmd, &counters, "counters", "the `TABLE` of counters")
	command.Table(cmd, &rules, "rules", "the `TABLE` of rules")
	command.Refuse(cmd, func() bool { return counters+rules == "" }, "name at least one table: --counters TABLE, --rules TABLE")
	command.Check(cmd, func() error {
		if counters == rules {
			return fmt.Errorf("counters and rules cannot share table %s", rules)
		}
		return nil
	})
	return command.Reporting(c, cmd, func(ctx context.Context, _ []string) (tablesReport, error) {
		tables, err := session.CreateTables(ctx, counters, rules)
		return tablesReport{tables}, err
	}, func(p *command.Printer, r tablesReport) {
		for _, t := range r.Tables {
			if t.Created {
				p.Line("created table %s for %s", t.Table, t.Role)
			} else {
				p.Line("table %s for %s exists already", t.Table, t.Role)
			}
		}
	})
}
