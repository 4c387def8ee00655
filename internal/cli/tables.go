package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator/session"
)

func (c *cli) tablesCommand() *cobra.Command {
	return group("tables", "Create the tables in DynamoDB", c.tablesCreateCommand())
}

type tablesFlags struct {
	counters, rules, store string
	json                   bool
}

func (c *cli) tablesCreateCommand() *cobra.Command {
	var f tablesFlags
	cmd := &cobra.Command{
		Use:   "create [--counters TABLE] [--rules TABLE]",
		Short: "Create the tables for counters and rules",
		Long: `Create makes the tables that do not exist yet, on demand, and waits until they can be used. A table that
exists stays as it is, but for its expiry, which counters need. Deployments by infra make their own.`,
		Example: `  slidegate tables create --counters slidegate-counters --rules slidegate-rules
  slidegate tables create --store dynamodb://slidegate-counters`,
		Args: flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.createTables(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.counters, "counters", "", "the `TABLE` of counters")
	cmd.Flags().StringVar(&f.rules, "rules", "", "the `TABLE` of rules")
	cmd.Flags().StringVar(&f.store, "store", "", "the table of counters, as other commands name that `STORE`: dynamodb://TABLE")
	flags.JSON(cmd, &f.json)
	return cmd
}

func (c *cli) createTables(cmd *cobra.Command, f *tablesFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	tables, err := session.CreateTables(cmd.Context(), f.counters, f.rules)
	if err != nil {
		return err
	}
	report := struct {
		Tables []session.TableReport `json:"tables"`
	}{tables}
	return c.report(f.json, report, nil, func(p *term.Printer) {
		for _, t := range tables {
			if t.Created {
				p.Line("created table %s for %s", t.Table, t.Role)
			} else {
				p.Line("table %s for %s exists already", t.Table, t.Role)
			}
		}
	})
}

// check reads --store, and checks the names of the tables.
func (f *tablesFlags) check(cmd *cobra.Command) error {
	if f.store != "" {
		table, ok := strings.CutPrefix(f.store, session.DynamoScheme)
		switch {
		case !ok:
			return flags.Usagef(cmd, "--store: want dynamodb://TABLE") // what was given may hold a password
		case f.counters != "":
			return flags.Usagef(cmd, "--store and --counters both name the table of counters: give one")
		}
		f.counters = table
	}
	f.rules = strings.TrimPrefix(f.rules, session.DynamoScheme)
	switch {
	case f.counters == "" && f.rules == "":
		return flags.Usagef(cmd, "name at least one table: --counters TABLE, --rules TABLE")
	case f.counters == f.rules:
		return flags.Usagef(cmd, "counters and rules cannot share table %s", f.rules)
	}
	for _, t := range []struct{ flag, name string }{{"counters", f.counters}, {"rules", f.rules}} {
		if t.name != "" {
			if err := flags.CheckTable(cmd, t.flag, t.name); err != nil {
				return err
			}
		}
	}
	return nil
}
