package rulescmd

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/rules"
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
			traffic, err := f.Traffic(c.Stdin, f.against)
			if err != nil {
				return err
			}
			p, err := PrepareApply(cmd.Context(), c, args[0], f.RulesTable, traffic)
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
func publish(ctx context.Context, c *command.Console, f *publishFlags, p *Publication, verb string, done func() string) error {
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
	return command.Show(c.Stdout, *f.json, &p.Report, func(out *command.Printer, _ *PublishReport) {
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
			traffic, err := f.Traffic(c.Stdin, f.against)
			if err != nil {
				return err
			}
			p, err := prepareRollback(cmd.Context(), c, f.RulesTable, to, traffic)
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

// Publication is a version that is about to be put in force, and what it
// changes.
type Publication struct {
	Report PublishReport
	// Unchanged says that the version in force has this very text, so that there
	// is nothing to publish.
	Unchanged bool
	publish   func(ctx context.Context, note ruletable.Note) (version int64, err error)
}

// PrepareApply prepares to publish a rules file.
func PrepareApply(ctx context.Context, c *command.Console, file, tableName string, traffic logs.Traffic) (*Publication, error) {
	next, document, err := session.ReadRules(file)
	if err != nil {
		return nil, err
	}
	operator.WarnAll(c, next.Warnings)
	if err := checkSecret(file, next, "write the check of their secret, or "); err != nil {
		return nil, err
	}
	version := ruletable.Version{Text: document, Document: next.Document()}
	if err := version.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	table, changes, err := changesOf(ctx, tableName)
	if err != nil {
		return nil, err
	}
	p := &Publication{Report: PublishReport{Table: tableName, ChangeReport: changes}}
	p.publish = func(ctx context.Context, note ruletable.Note) (int64, error) {
		version.Note = note
		return table.Publish(ctx, version, changes.previous)
	}
	if err := p.Report.compare(ctx, c, table, next, traffic); err != nil {
		return nil, err
	}
	operator.WarnAll(c, next.Caveats)
	p.Unchanged, err = p.Report.repeats(ctx, table, document)
	return p, err
}

// repeats reports whether the version in force has this text and this meaning.
// A version whose comments alone differ does not.
func (r *ChangeReport) repeats(ctx context.Context, table *ruletable.Table, document []byte) (bool, error) {
	if r.From == 0 || r.old == nil || len(r.Changes) > 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	v, err := table.Get(ctx, r.From)
	return err == nil && bytes.Equal(v.Text, document), err
}

// prepareRollback prepares to put an earlier version in force again. A version
// that is not valid here is refused: limiters would refuse it too.
func prepareRollback(ctx context.Context, c *command.Console, tableName string, to int64, traffic logs.Traffic) (*Publication, error) {
	table, changes, err := changesOf(ctx, tableName)
	if err != nil {
		return nil, err
	}
	next, err := session.ReadVersion(ctx, table, to)
	if err != nil {
		return nil, err
	}
	if changes.From == to && changes.Invalid == nil {
		return nil, fmt.Errorf("table %s: version %d: %w", tableName, to, ruletable.ErrInForce)
	}
	if err := checkSecret(fmt.Sprintf("%s%s version %d", session.DynamoScheme, tableName, to), next, ""); err != nil {
		return nil, err
	}
	p := &Publication{Report: PublishReport{ChangeReport: changes}}
	p.publish = func(ctx context.Context, note ruletable.Note) (int64, error) {
		return to, table.Rollback(ctx, changes.previous, to, note)
	}
	return p, p.Report.compare(ctx, c, table, next, traffic)
}

// Publish puts the version in force, if the one that it was compared with still
// is. It does nothing if the version is Unchanged.
func (p *Publication) Publish(ctx context.Context, note ruletable.Note) (err error) {
	if p.Unchanged {
		p.Report.Version = p.Report.From
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	p.Report.Version, err = p.publish(ctx, note)
	p.Report.Published = err == nil
	return err
}

// checkSecret refuses rules that limiters with this environment's secret would
// refuse. name says where the rules are, and remedy how to mend them.
func checkSecret(name string, set *rules.Set, remedy string) error {
	if err := secretMismatch(set); err != nil {
		return fmt.Errorf("%s: %w; limiters with this secret would refuse the rules: %sunset the variable if theirs is another than this",
			name, err, remedy)
	}
	return nil
}
