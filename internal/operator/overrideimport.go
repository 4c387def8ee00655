package operator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/imports/plain"
	"github.com/slidegate/slidegate/internal/operator/convert"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

const (
	// ErrorsShown is how many errors of a file are reported.
	ErrorsShown = 20
	// documentsKept is how many parsed documents are kept.
	documentsKept = 1000
)

// ImportReport says how many overrides were checked and written.
type ImportReport struct {
	Rule    string `json:"rule"`
	Checked int    `json:"checked"`
	Written int    `json:"written"` // 0 for a dry run
}

// ImportOptions name a file of overrides.
type ImportOptions struct {
	Table  string
	Rule   string // or rules.PlanOverrides
	File   string
	Format ImportFormat
	DryRun bool // check the file and write nothing
	Note   ruletable.Note
}

// ImportFormat is the format of a file of overrides.
type ImportFormat string

// The formats of ImportOverrides.
const (
	PlainOverrides ImportFormat = "plain" // a JSON object by key
	OverrideLines  ImportFormat = "jsonl" // a JSON object on each line
)

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
	err = table.ImportOverrides(ctx, o.Rule, slices.Values(overrides), o.Note, func(done int) {
		report.Written = done
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
	rule, ok := set.Rule(o.Rule)
	if !ok {
		rule = &rules.Rule{Name: o.Rule} // plans have no limits
	}
	file, err := os.Open(o.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	grants := 0
	var entries iter.Seq2[imports.Override, error]
	if o.Format == OverrideLines {
		entries = convert.Lines(o.File, file, &grants)
	} else {
		entries = plain.Import(o.File, file, rule.Name, rule.Limits)
	}
	check := importCheck{set: set, rule: o.Rule, keys: map[string]bool{}, parsed: map[string]*rules.Override{}}
	progress := listener.Progress()
	defer progress.Clear()
	for entry, err := range entries {
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
	set    *rules.Set
	rule   string
	keys   map[string]bool            // of earlier entries
	parsed map[string]*rules.Override // by their documents

	valid       []ruletable.Override
	errors      Errors // the first of them
	read, wrong int
}

func (c *importCheck) entry(o imports.Override, err error) {
	c.read++
	var checked ruletable.Override
	if err == nil {
		checked, err = c.check(o)
	}
	if err == nil {
		c.valid = append(c.valid, checked)
		return
	}
	if c.wrong++; c.wrong <= ErrorsShown {
		c.errors = append(c.errors, err)
	}
}

func (c *importCheck) check(o imports.Override) (checked ruletable.Override, err error) {
	at := fmt.Sprintf("entry %s, key %s: ", text.Thousands(c.read), text.Printable(o.Key))
	checked = ruletable.Override{Rule: c.rule}
	if checked.Key, err = c.set.OverrideKey(c.rule, o.Key); err != nil {
		return checked, fmt.Errorf("%s%w", at, err)
	}
	if c.keys[checked.Key] {
		return checked, fmt.Errorf("%sthe key is there twice: remove one of them", at)
	}
	c.keys[checked.Key] = true
	parsed, err := c.parse(at, o.Document)
	if err != nil {
		return checked, err
	}
	if err := withPrefix(at, c.set.CheckOverride(c.rule, checked.Key, parsed)); err != nil {
		return checked, err
	}
	checked.Document, err = overrideJSON(o.Document)
	return checked, err
}

// parse is parseOverride, once for each of the first documents that differ:
// most files say the same of many keys.
func (c *importCheck) parse(at, document string) (*rules.Override, error) {
	if o, ok := c.parsed[document]; ok {
		return o, nil
	}
	o, err := parseOverride(at, document)
	if err == nil && len(c.parsed) < documentsKept {
		c.parsed[document] = o
	}
	return o, err
}

// parseOverride reads a document without a file: its errors have a prefix in the
// place of file, line and column.
func parseOverride(prefix, document string) (*rules.Override, error) {
	o, err := rulefile.ParseOverride("", []byte(document))
	var invalid yamlfile.Errors
	if !errors.As(err, &invalid) {
		return o, err
	}
	var several Errors
	for _, e := range invalid {
		path := e.Path
		if path != "" {
			path += ": "
		}
		several = append(several, errors.New(text.Printable(prefix+path+e.Reason)))
	}
	return nil, several
}

func (c *importCheck) failure(path string) error {
	if c.wrong == 0 {
		return nil
	}
	if more := c.wrong - len(c.errors); more > 0 {
		c.errors = append(c.errors, fmt.Errorf("%s: and %s more", path, text.Thousands(more)))
	}
	return append(c.errors, fmt.Errorf("%s: nothing was imported", path))
}

// overrideJSON returns the JSON of an override that is written as YAML.
func overrideJSON(document string) (string, error) {
	o := &ruledoc.Override{}
	if _, err := yamlfile.Decode("", []byte(document), o); err != nil {
		return "", err
	}
	data, err := ruledoc.Marshal(o)
	return string(data), err
}
