package main

import (
	"context"
	"fmt"
	"io"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// publishTime bounds what follows once the table has answered: a document may be large and a line slow.
const publishTime = 30 * time.Second

type applyFlags struct {
	placeFlags
	againstFlags
	who, why  string
	dry, json bool
}

func (c *cli) applyCommand() *cobra.Command {
	var f applyFlags
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
		Args: positional(1, 1, "one rules file"), ValidArgsFunction: inTurn(filesOf("yaml", "yml", "json")),
		RunE: func(cmd *cobra.Command, args []string) error { return c.apply(cmd, &f, args[0]) },
	}
	f.addRules(cmd)
	f.againstFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and publish nothing")
	cmd.Flags().StringVar(&f.why, "why", "", "why the rules change: a `TEXT` for the history")
	cmd.Flags().StringVar(&f.who, "who", "", "the `NAME` of who changes them (default: the user of this system)")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) apply(cmd *cobra.Command, f *applyFlags, file string) error {
	table, who, err := f.check(cmd)
	if err != nil {
		return err
	}
	logs, err := c.against(cmd, &f.againstFlags)
	if err != nil {
		return err
	}
	set, text, err := readRules(file)
	if err != nil {
		return err
	}
	c.warn(set.Warnings)
	if err := publishable(file, set, "write the check of their secret, or "); err != nil {
		return err
	}
	p, err := c.previewTable(cmd.Context(), table, set, logs)
	if err != nil {
		return err
	}
	if !f.json {
		if err := p.print(c.stdout, file, c.colours(c.stdout)); err != nil {
			return err
		}
	}
	told := applied{Table: table, previewTold: p.told()}
	if !f.dry {
		note := ruletable.Note{Who: who, Why: f.why, When: time.Now()}
		if told.Version, err = p.publish(cmd.Context(), ruletable.Version{Text: text, Document: set.Document(), Note: note}); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(c.stdout, told)
	}
	return told.print(c.stdout, file)
}

// check reads the flags that say where the rules go, and on whose word.
func (f *applyFlags) check(cmd *cobra.Command) (table, who string, err error) {
	if _, table, err = f.rulesPlace(cmd); err != nil {
		return "", "", err
	}
	if table == "" {
		return "", "", usagef(cmd, "--rules %s: rules are published to a dynamodb://TABLE", f.rules)
	}
	who, err = author(cmd, f.who)
	return table, who, err
}

// publishable refuses rules that limiters with the secret of this environment would refuse: each that starts would fail. name
// is the place of the rules, for people; mend is what can be done about them, if anything.
func publishable(name string, set *rules.Set, mend string) error {
	if err := contradicted(set); err != nil {
		return fmt.Errorf("%s: %w; limiters with this secret would refuse the rules: %sunset the variable if theirs is another than this",
			name, err, mend)
	}
	return nil
}

// publish makes a document the version in force, if the one that it was compared with still is.
func (p *preview) publish(ctx context.Context, v ruletable.Version) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	return p.table.Publish(ctx, v, p.old.version)
}

// applied is what rules apply has done.
type applied struct {
	Table   string `json:"table"`
	Version int64  `json:"version,omitempty"` // left out of a dry run
	previewTold
}

func (a *applied) print(w io.Writer, file string) error {
	p := printer{w: w}
	p.line("")
	if a.Version == 0 {
		p.line("nothing was published: --dry-run")
	} else {
		p.line("%s is version %d of table %s and in force", file, a.Version, a.Table)
	}
	return p.err
}

// author returns who publishes.
func author(cmd *cobra.Command, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", usagef(cmd, "--who is missing, and the system does not say who runs this: %w", err)
	}
	return u.Username, nil
}
