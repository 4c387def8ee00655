package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/text"
)

type importFlags struct {
	flags.Table
	flags.Note
	operator.ImportOptions
}

func (c *cli) overridesImportCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import RULE FILE --why TEXT --rules dynamodb://TABLE",
		Short: "Set many overrides of a rule",
		Long: `Import sets the overrides in a file, and replaces those that their keys have. Grants in the table stay, and
grants in the file are skipped. The whole file is checked against the rules in force first: if anything in it
is wrong, nothing is written. Twenty-five are written at a time; if it breaks off half-way, import the file
again.

Formats:
  plain  a JSON object by key, for a rule with one limit:
         {"user:241531": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}}
  jsonl  an object on each line, as overrides list --json prints them:
         {"key": "user:7", "document": {"capacity": 5, "until": "2026-12-31T00:00:00Z"}}
Keys have the form of the rule's override keys; special characters in a value are escaped for you.`,
		Example: `  slidegate overrides import api limits.json --why "from the old limiter" --rules dynamodb://slidegate-rules
  slidegate overrides import plan plans.jsonl --dry-run --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(2, 2, "a rule, or plan, and a file"),
		ValidArgsFunction: flags.InTurn(f.RuleNames(rules.PlanOverrides), flags.FilesOf("json", "jsonl")),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.importOverrides(cmd, &f, args[0], args[1]) },
	}
	f.Table.Add(cmd)
	f.Note.Add(cmd)
	cmd.Flags().StringVar((*string)(&f.Format), "format", "", "the `FORMAT` of the file: plain or jsonl (default: jsonl for a name that ends so, else plain)")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "check the file and write nothing")
	flags.Complete(cmd, "format", flags.OneOf(string(operator.PlainOverrides), string(operator.OverrideLines)))
	return cmd
}

func (c *cli) importOverrides(cmd *cobra.Command, f *importFlags, rule, path string) (err error) {
	o := &f.ImportOptions
	o.Rule, o.File = rule, path
	if err = f.guessFormat(cmd); err != nil {
		return err
	}
	if !f.DryRun {
		if o.Note, err = f.Note.Read(cmd, time.Now()); err != nil {
			return err
		}
	}
	if o.Table, err = f.Table.Read(cmd); err != nil {
		return err
	}
	r, err := operator.ImportOverrides(cmd.Context(), o, c)
	return c.report(f.JSON, r, err, func(p *term.Printer) {
		if f.DryRun {
			p.Line("%s of %s can be imported", text.Plural(r.Checked, "override"), r.Rule)
		} else {
			p.Line("%s of %s imported", text.Plural(r.Written, "override"), r.Rule)
		}
	})
}

// guessFormat checks --format, or guesses the format by the file's name.
func (f *importFlags) guessFormat(cmd *cobra.Command) error {
	switch {
	case f.Format == operator.PlainOverrides, f.Format == operator.OverrideLines:
	case f.Format != "":
		return flags.Usagef(cmd, "--format %s: want plain or jsonl", f.Format)
	case strings.HasSuffix(f.File, ".jsonl"):
		f.Format = operator.OverrideLines
	default:
		f.Format = operator.PlainOverrides
	}
	return nil
}
