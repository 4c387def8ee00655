package keyscmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// ErrorsShown is how many errors of a file are reported.
const ErrorsShown = 20

// importReport says how many overrides were checked and written.
type importReport struct {
	Rule               string `json:"rule"`
	Checked            int    `json:"checked"`
	ruletable.Imported        // nothing for a dry run
}

func importCommand(c *command.Console) *cobra.Command {
	var note ruletable.Note
	var dry bool
	cmd := &cobra.Command{
		Use:   "import RULE FILE --why TEXT --rules dynamodb://TABLE",
		Short: "Set many overrides of a rule",
		Long: `Import sets the overrides in a file, in place of the overrides that their keys have. Grants in the table stay,
and grants in the file are skipped. The whole file is checked against the rules in force first: if anything in it
is wrong, nothing is written. Twenty-five are written at a time. If it breaks off half-way, the history shows it
as unfinished; import the file again, which writes the others.

The file has a JSON object on each line, as overrides list --json prints them:
  {"key": "user:7", "document": {"capacity": 5, "until": "2026-12-31T00:00:00Z"}}
  {"key": "user:8", "document": {"limits": [{"capacity": 5, "window": "1s"}]}}
Keys have the form of the rule's override keys; special characters in a value are escaped for you.`,
		Example: `  slidegate overrides import api limits.jsonl --why "from the old limiter" --rules dynamodb://slidegate-rules
  slidegate overrides import plan plans.jsonl --dry-run --rules dynamodb://slidegate-rules`,
		Args:              command.Positional(2, 2, "a rule, or plan, and a file"),
		ValidArgsFunction: command.InTurn(command.NoWords, command.FilesOf("jsonl")),
	}
	command.Note(cmd, &note, &dry)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check the file and write nothing")
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, args []string) (*importReport, error) {
		set, _, err := session.InForce(ctx, table)
		if err != nil {
			return nil, err
		}
		rule, file := args[0], args[1]
		overrides, err := checkImport(c, set, rule, file)
		if err != nil || dry {
			return &importReport{Rule: rule, Checked: len(overrides)}, err
		}
		progress := c.Progress()
		defer progress.Clear()
		written, err := table.ImportOverrides(ctx, rule, slices.Values(overrides), note, func(done int) {
			progress.Count(done, len(overrides), "overrides")
		})
		return &importReport{rule, len(overrides), written}, err
	}, func(p *command.Printer, r *importReport) {
		switch {
		case dry:
			p.Line("%s of %s can be imported", text.Plural(r.Checked, "override"), r.Rule)
		case r.Unchanged > 0:
			p.Line("%s of %s imported, %s unchanged", text.Plural(r.Written, "override"), r.Rule, text.Thousands(r.Unchanged))
		default:
			p.Line("%s of %s imported", text.Plural(r.Written, "override"), r.Rule)
		}
	})
}

// checkImport reads the whole file and checks every entry. The error has as
// much as a person can read.
func checkImport(c *command.Console, set *rules.Set, rule, path string) ([]ruletable.Override, error) {
	if err := operator.CheckOverrideRule(set, rule); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	grants := 0
	check := importCheck{set: set, rule: rule, keys: map[string]bool{}}
	progress := c.Progress()
	for entry, err := range imports.OverrideLines(path, file, &grants) {
		check.entry(entry, err)
		progress.Count(check.read, 0, "checked")
	}
	progress.Clear()
	if grants > 0 {
		c.Warn("skipped %s; `slidegate grant` gives them", text.Plural(grants, "grant"))
	}
	return check.valid, check.failure(path)
}

// importCheck checks entries as they are read.
type importCheck struct {
	set  *rules.Set
	rule string
	keys map[string]bool // of earlier entries

	valid       []ruletable.Override
	errors      []error // the first of them
	read, wrong int
}

func (c *importCheck) entry(o imports.Override, err error) {
	c.read++
	checked := ruletable.Override{Rule: c.rule}
	if err == nil {
		if err = c.check(o, &checked); err == nil {
			c.valid = append(c.valid, checked)
			return
		}
		at := fmt.Sprintf("entry %s, key %s: ", text.Thousands(c.read), text.Printable(o.Key))
		err = errors.New(at + strings.ReplaceAll(err.Error(), "\n", "\n"+at))
	}
	if c.wrong++; c.wrong <= ErrorsShown {
		c.errors = append(c.errors, err)
	}
}

// check fills in what the table is to store. The error has a line for each
// problem.
func (c *importCheck) check(o imports.Override, checked *ruletable.Override) (err error) {
	if checked.Key, err = c.set.OverrideKey(c.rule, o.Key); err != nil {
		return err
	}
	if c.keys[checked.Key] {
		return errors.New("the key is there twice: remove one of them")
	}
	c.keys[checked.Key] = true
	parsed, stated, err := parseOverride(string(o.Document))
	if err != nil {
		return err
	}
	if err := c.set.CheckOverride(c.rule, checked.Key, parsed); err != nil {
		return err
	}
	data, err := ruledoc.Marshal(stated)
	checked.Document = string(data)
	return err
}

// parseOverride is rulefile.ParseOverride for a document that is in no file: its
// errors, a line each, name neither file nor position.
func parseOverride(document string) (*rules.Override, *ruledoc.Override, error) {
	o, stated, err := rulefile.ParseOverride("", []byte(document))
	var invalid yamlfile.Errors
	if !errors.As(err, &invalid) {
		return o, stated, err
	}
	lines := make([]string, len(invalid))
	for i, e := range invalid {
		lines[i] = text.Printable(strings.TrimPrefix(e.Path+": "+e.Reason, ": "))
	}
	return nil, nil, errors.New(strings.Join(lines, "\n"))
}

func (c *importCheck) failure(path string) error {
	if c.wrong == 0 {
		return nil
	}
	if more := c.wrong - len(c.errors); more > 0 {
		c.errors = append(c.errors, fmt.Errorf("%s: and %s more", path, text.Thousands(more)))
	}
	return errors.Join(append(c.errors, fmt.Errorf("%s: nothing was imported", path))...)
}
