package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/imports/plain"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

const (
	// faultsShown is how many faults of a file are told.
	faultsShown = 20
	// documentsKept is how many documents are remembered.
	documentsKept = 1000
)

type importFlags struct {
	tableFlags
	noteFlags
	format string
	dryRun bool
}

func (c *cli) overridesImportCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import RULE FILE --why TEXT --rules dynamodb://TABLE",
		Short: "Set many overrides of a rule",
		Long: `Import sets the overrides in a file, in the place of those that their keys have; grants that are there stay, and
those in the file are left out. The whole file is checked against the rules in force first: if anything in it is
wrong, nothing is written. Twenty-five are written at a time; if it breaks off half-way, import the file again.

Formats:
  plain  a JSON object by key, for a rule with one limit:
         {"user:241531": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}}
  jsonl  an object on each line, as overrides list --json prints them:
         {"key": "user:7", "document": {"capacity": 5, "until": "2026-12-31T00:00:00Z"}}
Keys are written as the rule's overrides spell them; what is special in a value is escaped for you.`,
		Example: `  slidegate overrides import api limits.json --why "from the old limiter" --rules dynamodb://slidegate-rules
  slidegate overrides import plan plans.jsonl --dry-run --rules dynamodb://slidegate-rules`,
		Args:              positional(2, 2, "a rule, or plan, and a file"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides), filesOf("json", "jsonl")),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.importOverrides(cmd, &f, args[0], args[1]) },
	}
	f.tableFlags.add(cmd)
	f.noteFlags.add(cmd)
	cmd.Flags().StringVar(&f.format, "format", "", "the `FORMAT` of the file: plain or jsonl (default: jsonl for a name that ends so, else plain)")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check the file and write nothing")
	complete(cmd, "format", oneOf("plain", "jsonl"))
	return cmd
}

// imported is what overrides import --json prints.
type imported struct {
	Rule    string `json:"rule"`
	Checked int    `json:"checked"`
	Written int    `json:"written"` // 0 for a dry run

	dry bool
}

func (c *cli) importOverrides(cmd *cobra.Command, f *importFlags, rule, path string) error {
	read, err := f.reader(cmd, path)
	if err != nil {
		return err
	}
	note := ruletable.Note{When: time.Now()}
	if !f.dryRun {
		if note, err = f.note(cmd, note.When); err != nil {
			return err
		}
	}
	table, set, err := f.openRules(cmd)
	if err != nil {
		return err
	}
	overrides, err := c.checkImport(set, rule, path, read)
	if err != nil {
		return err
	}
	told := imported{Rule: rule, Checked: len(overrides), dry: f.dryRun}
	if !f.dryRun {
		if told.Written, err = c.writeImport(cmd.Context(), table, rule, overrides, note); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(c.stdout, told)
	}
	return told.print(c.stdout)
}

// writeImport writes overrides that have been checked.
func (c *cli) writeImport(ctx context.Context, table *ruletable.Table, rule string, overrides []ruletable.Override, note ruletable.Note) (written int, err error) {
	line := c.newProgress(time.Now)
	defer line.clear()
	err = table.ImportOverrides(ctx, rule, slices.Values(overrides), note, func(done int) {
		written = done
		line.count(done, len(overrides), "overrides")
	})
	return written, err
}

func (i *imported) print(w io.Writer) error {
	p := printer{w: w}
	if i.dry {
		p.line("%s of %s can be imported", plural(i.Checked, "override"), i.Rule)
	} else {
		p.line("%s of %s imported", plural(i.Written, "override"), i.Rule)
	}
	return p.err
}

// importReader reads what a file says of a rule's keys, one by one, and counts the grants that it leaves out.
type importReader func(file *os.File, rule *rules.Rule, grants *int) iter.Seq2[imports.Override, error]

func (f *importFlags) reader(cmd *cobra.Command, path string) (importReader, error) {
	format := f.format
	if format == "" {
		format = importFormatOf(path)
	}
	switch format {
	case "plain":
		return func(file *os.File, rule *rules.Rule, _ *int) iter.Seq2[imports.Override, error] {
			return plain.Import(path, file, rule.Name, rule.Limits)
		}, nil
	case "jsonl":
		return func(file *os.File, _ *rules.Rule, grants *int) iter.Seq2[imports.Override, error] {
			return readOverrideLines(path, file, grants)
		}, nil
	}
	return nil, usagef(cmd, "--format %s: want plain or jsonl", f.format)
}

// checkImport reads the whole file and checks every entry. The error is of as much as a person can read.
func (c *cli) checkImport(set *rules.Set, name, path string, read importReader) ([]ruletable.Override, error) {
	if err := knownRule(set, name); err != nil {
		return nil, err
	}
	rule, ok := set.Rule(name)
	if !ok {
		rule = &rules.Rule{Name: name} // of plans, which have no limits
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	check := importCheck{set: set, rule: name, keys: map[string]bool{}, parsed: map[string]*rules.Override{}}
	line := c.newProgress(time.Now)
	defer line.clear()
	grants := 0
	for o, err := range read(file, rule, &grants) {
		check.entry(o, err)
		line.count(check.read, 0, "checked")
	}
	if grants > 0 {
		c.say("warning: left out %s; `slidegate grant` gives them", plural(grants, "grant"))
	}
	return check.good, check.failure(path)
}

// importCheck checks entries as they are read.
type importCheck struct {
	set    *rules.Set
	rule   string
	keys   map[string]bool            // that were there before
	parsed map[string]*rules.Override // by their documents

	good        []ruletable.Override
	bad         faults // the first of them
	read, wrong int
}

func (ic *importCheck) entry(o imports.Override, err error) {
	ic.read++
	var checked ruletable.Override
	if err == nil {
		checked, err = ic.check(o)
	}
	if err == nil {
		ic.good = append(ic.good, checked)
		return
	}
	if ic.wrong++; ic.wrong <= faultsShown {
		ic.bad = append(ic.bad, err)
	}
}

func (ic *importCheck) check(o imports.Override) (checked ruletable.Override, err error) {
	at := fmt.Sprintf("entry %s, key %s: ", thousands(int64(ic.read)), plainText(o.Key))
	checked = ruletable.Override{Rule: ic.rule, Document: o.Document}
	if checked.Key, err = ic.set.OverrideKey(ic.rule, o.Key); err != nil {
		return checked, fmt.Errorf("%s%w", at, err)
	}
	if ic.keys[checked.Key] {
		return checked, fmt.Errorf("%sthe key is there twice: remove one of them", at)
	}
	ic.keys[checked.Key] = true
	parsed, err := ic.parse(at, o.Document)
	if err != nil {
		return checked, err
	}
	return checked, apart(at, ic.set.CheckOverride(ic.rule, checked.Key, parsed))
}

// parse is parseOverride, once for each of the first documents that differ: most files say the same of many keys.
func (ic *importCheck) parse(at, document string) (*rules.Override, error) {
	if o, ok := ic.parsed[document]; ok {
		return o, nil
	}
	o, err := parseOverride(at, document)
	if err == nil && len(ic.parsed) < documentsKept {
		ic.parsed[document] = o
	}
	return o, err
}

// parseOverride reads a document that has no lines worth telling. What is wrong in it is told after a prefix.
func parseOverride(prefix, document string) (*rules.Override, error) {
	o, err := rulefile.ParseOverride("", []byte(document))
	var invalid yamlfile.Errors
	if !errors.As(err, &invalid) {
		return o, err
	}
	var told faults
	for _, e := range invalid {
		path := e.Path
		if path != "" {
			path += ": "
		}
		told = append(told, errors.New(plainText(prefix+path+e.Reason)))
	}
	return nil, told
}

func (ic *importCheck) failure(path string) error {
	if ic.wrong == 0 {
		return nil
	}
	if ic.wrong > len(ic.bad) {
		ic.bad = append(ic.bad, fmt.Errorf("%s: and %s more", path, thousands(int64(ic.wrong-len(ic.bad)))))
	}
	return append(ic.bad, fmt.Errorf("%s: nothing was imported", path))
}
