package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// publishFlags are those of commands that change the version in force.
type publishFlags struct {
	flags.Table
	flags.Note
	trafficFlags
	dry bool
}

func (c *cli) applyCommand() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "apply FILE --rules dynamodb://TABLE",
		Short: "Publish a rules file",
		Long: `Apply checks a rules file, shows what it changes as diff does, and publishes it to the rules table as a new
version. Publishing is atomic: limiters see the old version whole or the new one whole, within ten seconds.
If somebody else publishes after the changes were worked out, nothing changes and apply says so.

Overrides set by command stay as they are; those that do not fit the new rules are listed. With --against it
also says how recorded requests would have fared, as diff does.`,
		Example: `  slidegate rules apply rules.yaml --rules dynamodb://slidegate-rules --why "launch week"
  slidegate rules apply rules.yaml --rules dynamodb://slidegate-rules --against monday.log.gz --dry-run`,
		Args: flags.Positional(1, 1, "one rules file"), ValidArgsFunction: flags.InTurn(flags.FilesOf("yaml", "yml", "json")),
		RunE: func(cmd *cobra.Command, args []string) error { return c.apply(cmd, &f, args[0]) },
	}
	f.AddRules(cmd)
	f.trafficFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and publish nothing")
	cmd.Flags().StringVar(&f.Why, "why", "", "why the rules change: a `TEXT` for the history")
	cmd.Flags().StringVar(&f.Who, "who", "", "the `NAME` of who changes them (default: the user of this system)")
	flags.JSON(cmd, &f.JSON)
	return cmd
}

func (c *cli) apply(cmd *cobra.Command, f *publishFlags, file string) error {
	table, err := f.ReadTable(cmd, "rules are published to a dynamodb://TABLE")
	if err != nil {
		return err
	}
	note, err := f.Note.ReadOptional(cmd, time.Now())
	if err != nil {
		return err
	}
	traffic, err := f.traffic(c, cmd)
	if err != nil {
		return err
	}
	p, err := operator.PrepareApply(cmd.Context(), file, table, traffic)
	if err != nil {
		return err
	}
	return c.publish(cmd.Context(), f, p, note, file, "published", func() string {
		return fmt.Sprintf("%s is version %d of table %s and in force", file, p.Report.Version, table)
	})
}

// publish shows what changes, puts the version in force, and says so. name is
// that of the new rules; a dry run says that they were not verb.
func (c *cli) publish(ctx context.Context, f *publishFlags, p *operator.Publication, note ruletable.Note, name, verb string, done func() string) error {
	out := term.NewPrinter(c.stdout)
	if !f.JSON {
		printChanges(out, &p.Report.ChangeReport, name)
		if out.Err != nil {
			return out.Err // nothing is published that could not be shown
		}
	}
	if !f.dry {
		note.When = time.Now()
		if err := p.Publish(ctx, note); err != nil {
			return err
		}
	}
	if f.JSON {
		return printJSON(c.stdout, p.Report)
	}
	out.Line("")
	if f.dry {
		out.Line("nothing was %s: --dry-run", verb)
	} else {
		out.Line("%s", done())
	}
	return out.Err
}

func (c *cli) rollbackCommand() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "rollback VERSION --why TEXT --rules dynamodb://TABLE",
		Short: "Put an earlier version in force again",
		Long: `Rollback shows what a published version changes, as diff does, and puts it in force again, within ten seconds
everywhere. Nothing is lost: the version that was in force stays listed, and can be put in force again the same
way. If somebody else publishes after the changes were worked out, nothing changes and rollback says so.

Overrides set by command stay as they are; those that do not fit are listed. With --against it also says how
recorded requests would have fared, as diff does.`,
		Example: `  slidegate rules rollback 11 --why "12 limits the probes" --rules dynamodb://slidegate-rules
  slidegate rules rollback 11 --dry-run --against monday.log.gz --rules dynamodb://slidegate-rules`,
		Args: flags.Positional(1, 1, "one version"), ValidArgsFunction: flags.InTurn(f.Versions()),
		RunE: func(cmd *cobra.Command, args []string) error { return c.rollback(cmd, &f, args[0]) },
	}
	f.Table.Add(cmd)
	f.Note.Add(cmd)
	f.trafficFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and put nothing in force")
	return cmd
}

func (c *cli) rollback(cmd *cobra.Command, f *publishFlags, version string) error {
	to, err := parseVersion(cmd, version)
	if err != nil {
		return err
	}
	var note ruletable.Note
	if !f.dry { // a dry run needs no reason
		if note, err = f.Note.Read(cmd, time.Now()); err != nil {
			return err
		}
	}
	traffic, err := f.traffic(c, cmd)
	if err != nil {
		return err
	}
	table, err := f.Table.Read(cmd)
	if err != nil {
		return err
	}
	p, err := operator.PrepareRollback(cmd.Context(), table, to, traffic)
	if err != nil {
		return err
	}
	return c.publish(cmd.Context(), f, p, note, fmt.Sprintf("version %d", to), "put in force", func() string {
		return fmt.Sprintf("version %d is in force again%s", to, after(p.Report.From))
	})
}

func parseVersion(cmd *cobra.Command, given string) (int64, error) {
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 1 {
		return 0, flags.Usagef(cmd, "%q is no version: want a number such as 12; `slidegate rules list` shows the versions", given)
	}
	return n, nil
}
