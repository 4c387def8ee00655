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
	format string
	dryRun bool
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
	cmd.Flags().StringVar(&f.format, "format", "", "the `FORMAT` of the file: plain or jsonl (default: jsonl for a name that ends so, else plain)")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check the file and write nothing")
	flags.Complete(cmd, "format", flags.OneOf(string(operator.PlainOverrides), string(operator.OverrideLines)))
	return cmd
}

func (c *cli) importOverrides(cmd *cobra.Command, f *importFlags, rule, path string) (err error) {
	o := operator.ImportOptions{Rule: rule, File: path, DryRun: f.dryRun}
	if o.Format, err = f.formatOf(cmd, path); err != nil {
		return err
	}
	if !f.dryRun {
		if o.Note, err = f.Note.Read(cmd, time.Now()); err != nil {
			return err
		}
	}
	if o.Table, err = f.Table.Read(cmd); err != nil {
		return err
	}
	r, err := operator.ImportOverrides(cmd.Context(), &o, c)
	return c.report(f.JSON, r, err, func(p *term.Printer) {
		if f.dryRun {
			p.Line("%s of %s can be imported", text.Plural(r.Checked, "override"), r.Rule)
		} else {
			p.Line("%s of %s imported", text.Plural(r.Written, "override"), r.Rule)
		}
	})
}

// formatOf reads --format, or guesses the format by the file's name.
func (f *importFlags) formatOf(cmd *cobra.Command, path string) (operator.ImportFormat, error) {
	switch format := operator.ImportFormat(f.format); {
	case format == operator.PlainOverrides, format == operator.OverrideLines:
		return format, nil
	case format != "":
		return "", flags.Usagef(cmd, "--format %s: want plain or jsonl", f.format)
	case strings.HasSuffix(path, ".jsonl"):
		return operator.OverrideLines, nil
	}
	return operator.PlainOverrides, nil
}
