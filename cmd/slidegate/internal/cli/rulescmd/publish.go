package rulescmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

func applyCommand(c *command.Console) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "apply FILE --rules dynamodb://TABLE",
		Short: "Publish a rules file",
		Long: `Apply checks a rules file, shows what it changes as diff does, and publishes it to the rules table as a new
version. Publishing is atomic: limiters see the old version whole or the new one whole, within ten seconds. If
somebody else publishes meanwhile, apply changes nothing and says so. It does not publish a file again that is
in force already, byte for byte.

Overrides set by command stay as they are. Apply lists overrides that do not fit the new rules. With --against
it also counts the recorded requests that would be decided otherwise, as diff does.`,
		Example: `  slidegate rules apply rules.yaml --rules dynamodb://slidegate-rules --why "launch week"
  slidegate rules apply rules.yaml --rules dynamodb://slidegate-rules --against monday.log.gz --dry-run`,
		Args: command.RulesFile, ValidArgsFunction: command.InTurn(command.FilesOf("yaml", "yml", "json")),
		RunE: func(cmd *cobra.Command, args []string) error {
			traffic, err := f.traffic(c)
			if err != nil {
				return err
			}
			p, err := operator.PrepareApply(cmd.Context(), args[0], f.RulesTable, traffic)
			if err != nil {
				return err
			}
			p.Report.Name = args[0]
			return publish(cmd.Context(), c, &f, p, "published", func() string {
				return fmt.Sprintf("%s is version %d of table %s and in force", args[0], p.Report.Version, f.RulesTable)
			})
		},
	}
	f.AddTableFor(cmd, "rules are published to a dynamodb://TABLE")
	f.trafficFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and publish nothing")
	command.OptionalNote(cmd, &f.note, "why the rules change: a `TEXT` for the history", "changes them")
	f.json = command.JSON(cmd)
	return cmd
}

// publishFlags are for commands that change the version in force.
type publishFlags struct {
	command.Locations
	trafficFlags
	note ruletable.Note
	dry  bool
	json *bool
}

// publish shows what changes and puts the version in force. A dry run prints that
// nothing was verb.
func publish(ctx context.Context, c *command.Console, f *publishFlags, p *operator.Publication, verb string, done func() string) error {
	out := command.NewPrinter(c.Stdout)
	if !*f.json {
		printChanges(out, &p.Report.ChangeReport)
		if out.Err != nil {
			return out.Err // nothing is published that could not be shown
		}
	}
	if !f.dry {
		f.note.When = time.Now()
		if err := p.Publish(ctx, f.note); err != nil {
			return err
		}
	}
	return command.Show(c.Stdout, *f.json, &p.Report, func(out *command.Printer, _ *operator.PublishReport) {
		out.Line("")
		switch {
		case p.Unchanged:
			out.Line("nothing was %s: version %d has this very text", verb, p.Report.From)
		case f.dry:
			out.Line("nothing was %s: --dry-run", verb)
		default:
			out.Line("%s", done())
		}
	})
}

func rollbackCommand(c *command.Console) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "rollback VERSION --why TEXT --rules dynamodb://TABLE",
		Short: "Put an earlier version in force again",
		Long: `Rollback shows what a published version changes, as diff does, and puts it in force again, within ten seconds
everywhere. Nothing is lost: the version that was in force stays listed, and can be put in force again the same
way. If somebody else publishes meanwhile, rollback changes nothing and says so.

Overrides set by command stay as they are. Rollback lists overrides that do not fit. With --against it also
counts the recorded requests that would be decided otherwise, as diff does.`,
		Example: `  slidegate rules rollback 11 --why "12 limits the probes" --rules dynamodb://slidegate-rules
  slidegate rules rollback 11 --dry-run --against monday.log.gz --rules dynamodb://slidegate-rules`,
		Args: command.Positional(1, 1, "one version"), ValidArgsFunction: command.NoWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := parseVersion(args[0])
			if err != nil {
				return err
			}
			traffic, err := f.traffic(c)
			if err != nil {
				return err
			}
			p, err := operator.PrepareRollback(cmd.Context(), f.RulesTable, to, traffic)
			if err != nil {
				return err
			}
			p.Report.Name = fmt.Sprintf("version %d", to)
			return publish(cmd.Context(), c, &f, p, "put in force", func() string {
				return fmt.Sprintf("version %d is in force again%s", to, after(p.Report.From))
			})
		},
	}
	f.AddTable(cmd)
	f.trafficFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and put nothing in force")
	command.Note(cmd, &f.note, &f.dry)
	f.json = command.JSON(cmd)
	return cmd
}
