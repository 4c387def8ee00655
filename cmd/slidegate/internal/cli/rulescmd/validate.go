package rulescmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

func validateCommand(c *command.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check rules files",
		Long: `Validate reads rules files as a limiter would. It reports every error with its line, its column and what to
write instead, and warns of valid rules that are probably not meant. It fails if one of the files is not valid;
- is standard input.`,
		Example: `  slidegate rules validate rules.yaml
  slidegate rules validate stages/*.yaml --json
  envsubst < rules.yaml.in | slidegate rules validate -`,
		Args:              command.Positional(1, -1, "at least one rules file, or - for standard input"),
		ValidArgsFunction: command.FilesOf("yaml", "yml"),
	}
	asJSON := command.JSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return validate(c, args, *asJSON) }
	return cmd
}

func validate(c *command.Console, files []string, asJSON bool) error {
	var r validateReport
	print := func(p *command.Printer, r *validateReport) { printValidation(c, p, r) }
	for _, file := range files {
		if file == command.Stdin {
			text, err := rulefile.Read(c.Stdin)
			r.add("standard input", text, err)
		} else {
			text, err := rulefile.ReadFile(file)
			r.add(file, text, err)
		}
	}
	if err := command.Show(c.Stdout, asJSON, &r, print); err != nil || r.Valid {
		return err
	}
	var invalid []error
	for i := range r.Files {
		if f := &r.Files[i]; !f.Valid && asJSON {
			invalid = append(invalid, fmt.Errorf("%s: %s", f.File, text.Plural(len(f.Errors), "error")))
		} else if !f.Valid {
			invalid = append(invalid, f.Errors)
		}
	}
	return errors.Join(invalid...)
}

// printValidation prints the files that are valid. The errors of the others go
// to standard error.
func printValidation(c *command.Console, p *command.Printer, r *validateReport) {
	printed := 0
	for i := range r.Files {
		f := &r.Files[i]
		if !f.Valid {
			continue
		}
		if printed++; printed > 1 {
			p.Line("")
		}
		for _, w := range f.Warnings {
			c.Warn("%s", w.Error())
		}
		printRules(p, f)
	}
}

// printRules prints the rules and their limits.
func printRules(p *command.Printer, r *fileReport) {
	set := r.Rules
	p.Line("%s is valid: %s, unmatched requests: %s", text.Printable(r.File), text.Plural(len(set.Rules), "rule"), set.Unmatched)
	var limits, plans, more [][]string
	local := false
	for _, rule := range set.Rules {
		shares := operator.LocalShares(set, rule)
		for i := range rule.Limits {
			onError := rule.OnError.String()
			if rule.OnError == rules.OnErrorLocal {
				onError, local = onError+": "+shares[i], true
			}
			l := operator.FormOf(&rule.Limits[i])
			limits = append(limits, []string{
				engine.PolicyName(rule.Name, l.Name), text.Thousands(l.Capacity), l.WindowText(), l.Detail(), l.Algorithm, onError,
				rule.Key,
			})
		}
		if also := unusual(set, rule); also != "" {
			more = append(more, []string{rule.Name, also})
		}
	}
	for _, plan := range set.Plans() {
		plans = append(plans, planRows(set, plan)...)
	}
	p.Section("lrrrlll", []string{"limit", "capacity", "window", "detail", "algorithm", "on error", "key"}, limits)
	p.Section("lll", []string{"plan", "limit", "capacity"}, plans)
	p.Section("ll", []string{"rule", "also"}, more)
	if local {
		p.Line("")
		p.Line("local: while the store is away, %s", operator.Processes(set))
	}
	source := ""
	if plan := set.Document().Plan; plan != nil {
		source = plan.From
	}
	if overrides := overridesText(set, rules.PlanOverrides); source != "" || overrides != "" {
		p.Line("")
		p.Line("plan of a caller: %s", strings.TrimPrefix(source+overrides, "; "))
	}
}

// overridesText describes how a rule's overrides are looked up; empty for none.
func overridesText(set *rules.Set, rule string) string {
	keys := set.OverrideKeys(rule)
	if keys == "" {
		return ""
	}
	return fmt.Sprintf("; overrides by %s, %s of them here", keys, text.Thousands(len(set.Document().Overrides[rule])))
}

// planRows describe the limits of a plan.
func planRows(set *rules.Set, plan string) (rows [][]string) {
	for _, rule := range set.Rules {
		limits, ok := set.Document().Plans[plan][rule.Name]
		if ok && limits.Unlimited {
			rows = append(rows, []string{plan, rule.Name, "unlimited"})
		}
		for i := range rule.Limits {
			if capacity, ok := limits.Capacity[rule.Limits[i].Name]; ok {
				rows = append(rows, []string{plan, engine.PolicyName(rule.Name, rule.Limits[i].Name), text.Thousands(capacity)})
			}
		}
	}
	return rows
}

// unusual lists what is unusual about a rule.
func unusual(set *rules.Set, r *rules.Rule) string {
	document := set.Document().Rule(r.Name)
	var words []string
	say := func(condition bool, format string, args ...any) {
		if condition {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(r.Mode != rules.Enforce, "%s", r.Mode)
	say(r.Hashed(), "keys hashed")
	say(r.Atomic, "atomic")
	say(r.Lease > 0, "leases up to %s charges", text.Thousands(r.Lease))
	say(r.Quiet, "no headers")
	for i := range r.Limits {
		name := engine.PolicyName(r.Name, r.Limits[i].Name)
		cost := costText(&r.Costs[i])
		say(cost != "", "%s costs %s", name, cost)
		if len(r.Costs[i].Weights) > 0 {
			weights, _ := json.Marshal(document.Limits[i].Cost.Weights) // numbers by name
			say(true, "%s weighs usage by %s", name, ruledoc.Value(weights))
		}
		if r.Candidates != nil {
			c := ruledoc.Candidate{Units: r.Candidates[i].Units, Percent: r.Candidates[i].Percent}.String()
			say(c != "", "%s has candidate %s", name, c)
		}
		if anchor := document.Limits[i].Anchor; anchor != nil {
			say(anchor.From != "", "%s starts on the day that %s says", name, anchor.From)
		}
	}
	overrides := strings.TrimPrefix(overridesText(set, r.Name), "; ")
	say(overrides != "", "%s", overrides)
	say(len(document.RefundOn) > 0, "refunds on %s", strings.Join(document.RefundOn, ", "))
	return strings.Join(words, "; ")
}

// costText describes the cost of a request; empty for one unit.
func costText(c *rules.Cost) string {
	cost := ""
	switch {
	case c.Source() != "":
		cost = fmt.Sprintf("%s, %s to %s", c.Source(), text.Thousands(c.Min), text.Thousands(c.Max))
	case c.Max != 1:
		cost = text.Thousands(c.Max)
	case c.Settle:
		cost = "1"
	}
	if c.Settle {
		cost += ", settled afterwards"
	}
	return cost
}

// validateReport describes rules files.
type validateReport struct {
	Valid bool         `json:"valid"` // all of them
	Files []fileReport `json:"files"` // in the order of the arguments
}

// fileReport describes the rules of a file, or everything wrong with it.
type fileReport struct {
	File     string            `json:"file"`
	Valid    bool              `json:"valid"`
	Errors   yamlfile.Errors   `json:"errors"`
	Warnings yamlfile.Errors   `json:"warnings"`
	Document *ruledoc.Document `json:"document,omitempty"` // in its normal form, of a valid file

	Rules *rules.Set `json:"-"` // of a valid file
}

// add adds the report on a file to those of others. One that cannot be read is not
// valid. name is its name in messages.
func (r *validateReport) add(name string, text []byte, err error) {
	file := fileReport{File: name, Errors: yamlfile.Errors{}, Warnings: yamlfile.Errors{}}
	if err == nil {
		err = file.check(text)
	}
	if err != nil && !errors.As(err, &file.Errors) {
		reason := err.Error()
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			reason = failed.Err.Error() // without the name again
		}
		file.Errors = yamlfile.Errors{{File: name, Reason: "cannot be read: " + reason}}
	}
	r.Valid = file.Valid && (r.Valid || len(r.Files) == 0)
	r.Files = append(r.Files, file)
}

// check fills in the report on a text. The error is of type yamlfile.Errors.
func (r *fileReport) check(text []byte) error {
	set, warnings, caveats, err := rulefile.Check(r.File, text)
	if err != nil {
		return err
	}
	warn := func(reason string) { warnings = append(warnings, &yamlfile.Error{File: r.File, Reason: reason}) }
	_ = session.LoadHashSecret(r.File, set)
	if err := secretMismatch(set); err != nil {
		warn(err.Error())
	}
	version := ruletable.Version{Text: text, Document: set.Document()}
	if err := version.Check(); err != nil {
		warn("apply would refuse the rules: " + err.Error())
	}
	r.Warnings = append(append(r.Warnings, warnings...), caveats...)
	r.Valid, r.Document, r.Rules = true, set.Document(), set
	return nil
}

// warnings are the document's warnings, and one if a secret in the environment
// contradicts the document.
func warnings(set *rules.Set) []string {
	if err := secretMismatch(set); err != nil {
		return append(slices.Clone(set.Warnings), err.Error())
	}
	return set.Warnings
}

// secretMismatch returns an error if the environment has another secret than
// the rules. A missing secret is fine: limiters need it, this program does not.
func secretMismatch(set *rules.Set) error {
	if err := set.HashSecretError(); !errors.Is(err, rules.ErrMissingSecret) {
		return err
	}
	return nil
}
