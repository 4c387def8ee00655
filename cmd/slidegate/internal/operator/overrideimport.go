package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
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

// ImportReport says how many overrides were checked and written.
type ImportReport struct {
	Rule               string `json:"rule"`
	Checked            int    `json:"checked"`
	ruletable.Imported        // nothing for a dry run
}

// ImportOptions name a file of overrides.
type ImportOptions struct {
	Table  string
	Rule   string // or rules.PlanOverrides
	File   string // with a JSON object on each line
	DryRun bool   // check the file and write nothing
	Note   ruletable.Note
}

// ImportOverrides sets many overrides of a rule. It checks the whole file first,
// and writes nothing if anything in it is wrong.
func ImportOverrides(ctx context.Context, o *ImportOptions, listener Listener) (*ImportReport, error) {
	table, set, err := session.OpenRules(ctx, o.Table)
	if err != nil {
		return nil, err
	}
	overrides, err := checkImport(set, o, listener)
	if err != nil {
		return nil, err
	}
	report := &ImportReport{Rule: o.Rule, Checked: len(overrides)}
	if o.DryRun {
		return report, nil
	}
	progress := listener.Progress()
	defer progress.Clear()
	report.Imported, err = table.ImportOverrides(ctx, o.Rule, slices.Values(overrides), o.Note, func(done int) {
		progress.Count(done, len(overrides), "overrides")
	})
	return report, err
}

// checkImport reads the whole file and checks every entry. The error has as
// much as a person can read.
func checkImport(set *rules.Set, o *ImportOptions, listener Listener) ([]ruletable.Override, error) {
	if err := checkOverrideRule(set, o.Rule); err != nil {
		return nil, err
	}
	file, err := os.Open(o.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	grants := 0
	check := importCheck{set: set, rule: o.Rule, keys: map[string]bool{}}
	progress := listener.Progress()
	for entry, err := range imports.OverrideLines(o.File, file, &grants) {
		check.entry(entry, err)
		progress.Count(check.read, 0, "checked")
	}
	progress.Clear()
	if grants > 0 {
		listener.Warn("skipped %s; `slidegate grant` gives them", text.Plural(grants, "grant"))
	}
	return check.valid, check.failure(o.File)
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
