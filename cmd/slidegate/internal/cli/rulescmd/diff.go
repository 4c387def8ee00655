package rulescmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// errDiffer is the outcome of a comparison.
const errDiffer = command.Outcome("the rules differ")

func diffCommand(c *command.Console) *cobra.Command {
	var where command.Locations
	var recorded trafficFlags
	var exitCode, differ bool
	cmd := &cobra.Command{
		Use:   "diff FILE --rules dynamodb://TABLE|FILE",
		Short: "Say what a rules file would change",
		Long: `Diff compares a rules file with the rules in force, or with another file, by what they mean, not by how they
are written. It says whether the counters of each changed rule keep their windows or start at zero and, for a
table, which overrides set by command do not fit the new rules.

With --against it also sends a recorded log through both, each on its own counters, and counts the requests
that would be decided otherwise. Requests of all logs are sorted by time, as replay does; --order file leaves
them in the order of their lines. Windows follow the log's clock. Overrides and grants that are in force now
apply to the whole log, also those set by command; others do not apply. Diff looks each key of the log up
once. If it cannot read an override, there is no comparison.

With --exit-code the exit code is 0 if the rules mean the same, 1 if they differ, and 2 if diff fails.`,
		Example: `  slidegate rules diff rules.yaml --rules dynamodb://slidegate-rules
  slidegate rules diff new.yaml --rules old.yaml
  slidegate rules diff rules.yaml --rules dynamodb://slidegate-rules --against monday.log.gz --json`,
		Args: command.RulesFile, ValidArgsFunction: command.InTurn(command.FilesOf("yaml", "yml", "json")),
	}
	where.AddRules(cmd)
	recorded.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if the rules differ, and with 2 if diff fails")
	command.Reporting(c, cmd, func(ctx context.Context, args []string) (*ChangeReport, error) {
		traffic, err := recorded.Traffic(c.Stdin, recorded.against)
		if err != nil {
			return nil, err
		}
		next, _, err := session.ReadRules(args[0])
		if err != nil {
			return nil, err
		}
		operator.WarnAll(c, warnings(next))
		var table *ruletable.Table
		r := ChangeReport{Baseline: where.RulesFile}
		if where.RulesTable == "" {
			r.old, _, err = session.ReadRules(where.RulesFile)
		} else {
			table, r, err = changesOf(ctx, where.RulesTable)
		}
		if err == nil {
			err = r.compare(ctx, c, table, next, traffic)
		}
		if err != nil {
			return nil, err
		}
		r.Name, differ = args[0], len(r.Changes) > 0
		return &r, r.Invalid
	}, printChanges)
	diff := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := diff(cmd, args)
		switch {
		case exitCode && err != nil:
			return command.Failure{Code: 2, Err: err}
		case exitCode && differ:
			return errDiffer
		}
		return err
	}
	return cmd
}

// trafficFlags name recorded traffic that shows what new rules would change.
type trafficFlags struct {
	command.Logs
	against []string
}

func (f *trafficFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.against, "against", nil, "recorded traffic to send through old and new rules, a `LOG`; may be repeated")
	f.Logs.Add(cmd)
	command.Refuse(cmd, func() bool { return f.Format != "" && len(f.against) == 0 },
		"--format says what the logs of --against hold: name one, or leave it out")
	command.Refuse(cmd, func() bool { return f.Template != nil && len(f.against) == 0 },
		"--log-format is for the logs of --against: name one, or leave it out")
	command.Refuse(cmd, func() bool { return f.Order != "" && len(f.against) == 0 },
		"--order is for the logs of --against: name one, or leave it out")
}

// printChanges prints what new rules change.
func printChanges(p *command.Printer, r *ChangeReport) {
	name, baseline := text.Printable(r.Name), text.Printable(r.Baseline)
	switch {
	case r.Invalid != nil:
		p.Line("%s is not valid here, so what %s changes is not known: %s", baseline, name, text.Escape(r.Invalid.Error()))
	case len(r.Changes) == 0:
		p.Line("%s means the same as %s", name, baseline)
	default:
		p.Line("%s changes %s:", name, baseline)
	}
	for _, change := range r.Changes {
		line := change.String()
		switch {
		case change.Kind == ruledoc.Added:
			line = p.Green(line)
		case change.Kind == ruledoc.Removed, change.CountersReset:
			line = p.Red(line)
		}
		p.Line("  %s", line)
	}
	if r.StaleOverrides != nil {
		printStale(p, r.StaleOverrides)
	}
	if r.Against != nil {
		printComparison(p, r.Against)
	}
}

func printStale(p *command.Printer, r *StaleReport) {
	var rows [][]string
	for _, one := range r.Overrides {
		rows = append(rows, []string{one.Rule, text.Printable(one.Key), one.Reason})
	}
	if more := r.Count - len(r.Overrides); more > 0 {
		rows = append(rows, []string{"", "and " + text.Thousands(more) + " more", ""})
	}
	p.Section("lll", []string{"rule", "override that does not fit", "because"}, rows)
	for _, rule := range r.Unread {
		p.Line("rule %s has more than %s overrides: the others were not checked", rule, text.Thousands(StaleRead))
	}
}

func printComparison(p *command.Printer, r *replay.Comparison) {
	p.Line("")
	disorder := ""
	if r.OutOfOrder > 0 {
		disorder = fmt.Sprintf(", %s out of order (%s)", text.Plural(r.OutOfOrder, "line"), r.HowOrdered())
	}
	if r.Late > 0 {
		disorder += fmt.Sprintf(", %s late (decided after later ones)", text.Thousands(r.Late))
	}
	p.Line("of %s in %s of traffic%s:", text.Plural(r.Requests, "recorded request"), text.Brief(r.Span()), disorder)
	p.Table("lrrl", [][]string{
		{"  allowed before, denied now", text.Thousands(r.ToDenied), text.Percent(r.ToDenied, r.Requests), p.Red(text.Bar(r.ToDenied, r.Requests))},
		{"  denied before, allowed now", text.Thousands(r.ToAllowed), text.Percent(r.ToAllowed, r.Requests), p.Green(text.Bar(r.ToAllowed, r.Requests))},
	})
	rows := func(changes []replay.Change) (rows [][]string) {
		for _, one := range changes {
			rows = append(rows, []string{text.Thousands(one.ToDenied), text.Thousands(one.ToAllowed), one.Rule, one.Key})
		}
		return rows
	}
	p.Section("rrl", []string{"now denied", "now allowed", "rule"}, rows(r.Rules))
	p.Section("rrll", []string{"now denied", "now allowed", "rule", "key"}, rows(r.Keys))
}

// ChangeReport says what new rules change.
type ChangeReport struct {
	From           int64              `json:"from_version"` // the version in force; 0 for none, and for a file
	Changes        []ruledoc.Change   `json:"changes"`
	StaleOverrides *StaleReport       `json:"stale_overrides,omitempty"` // left out if the old rules are in a file
	Against        *replay.Comparison `json:"against,omitempty"`

	Baseline string `json:"-"` // the old rules, for people
	Name     string `json:"-"` // the new rules, for people
	Invalid  error  `json:"-"` // why the old rules are not valid here; nil if they are

	old      *rules.Set // nil if they are not valid
	previous int64      // From, or ruletable.Damaged
}

// PublishReport is a change of the version in force.
type PublishReport struct {
	Table     string `json:"table,omitempty"`   // of apply
	Version   int64  `json:"version,omitempty"` // in force now; left out of a dry run
	Published bool   `json:"published"`         // whether this run put it in force
	ChangeReport
}

// compare adds what next changes about the old rules. table is nil if those are
// in a file.
func (r *ChangeReport) compare(ctx context.Context, c *command.Console, table *ruletable.Table, next *rules.Set, traffic logs.Traffic) (err error) {
	r.Changes = []ruledoc.Change{}
	if r.old != nil {
		current := *r.old.Document()
		if table != nil && r.From == 0 { // the default depends on the rules, and there were none
			current.AmbiguousPaths = next.Document().AmbiguousPaths
		}
		r.Changes = append(r.Changes, ruledoc.Diff(&current, next.Document())...)
	}
	if table != nil {
		names := changedRules(r.Changes)
		if r.old == nil { // what has changed is not known
			names = append(operator.RuleNames(next), rules.PlanOverrides)
		}
		if r.StaleOverrides, err = findStale(ctx, table, r.old, next, names); err != nil {
			return err
		}
	}
	if len(traffic.Logs) > 0 {
		if r.old == nil {
			return fmt.Errorf("--against: there is nothing to compare with: %w", r.Invalid)
		}
		r.Against, err = operator.Compare(ctx, traffic, r.old, next, table, c)
	}
	return err
}

// changesOf opens a table, and returns a report without changes yet, of the
// version in force. A table without a version, or with one that is not valid, or
// with a damaged pointer, is no error: a better version must be able to replace it.
func changesOf(ctx context.Context, name string) (table *ruletable.Table, r ChangeReport, err error) {
	if table, err = session.OpenTable(ctx, name); err != nil {
		return nil, r, err
	}
	if r.old, r.From, err = session.InForce(ctx, table); err == nil {
		err = table.CheckPointer(ctx)
	}
	r.previous = r.From
	r.Baseline = fmt.Sprintf("version %d", r.From)
	var invalid *ruletable.Problems
	switch {
	case errors.Is(err, ruletable.ErrNone):
		r.Baseline = "a table without rules"
		r.old, err = rulefile.Parse("", []byte("rules: []"))
	case errors.Is(err, ruletable.ErrDamaged):
		if r.From == 0 {
			r.previous, r.Baseline = ruletable.Damaged, "what is in force"
		}
		r.old, r.Invalid, err = nil, err, nil
	case errors.As(err, &invalid), errors.Is(err, ruletable.ErrNoVersion):
		r.old, r.Invalid, err = nil, err, nil
	}
	return table, r, err
}

const (
	// StaleRead is how many overrides of each rule are checked: there may be
	// billions.
	StaleRead = 1000
	// StaleShown is how many stale overrides are named.
	StaleShown = 20
)

// StaleReport lists overrides set by command that do not fit new rules. They
// stay in the table, and decisions leave out what does not fit.
type StaleReport struct {
	Count     int             `json:"count"`
	Overrides []StaleOverride `json:"overrides"` // the first of them
	// Unread are rules with so many overrides that not all were checked.
	Unread []string `json:"unread"`
}

// StaleOverride is an override that does not fit, and why.
type StaleOverride struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// changedRules are the rules whose overrides may no longer fit.
func changedRules(changes []ruledoc.Change) (names []string) {
	for _, change := range changes {
		name := change.Rule
		if name == "" { // plans may have changed
			name = rules.PlanOverrides
		}
		if change.Kind != ruledoc.Moved && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// findStale checks the first overrides of each of some rules against the next
// rules. old are the rules in force; nil if they are not valid.
func findStale(ctx context.Context, table *ruletable.Table, old, next *rules.Set, names []string) (*StaleReport, error) {
	found := &StaleReport{Overrides: []StaleOverride{}, Unread: []string{}}
	for _, name := range names {
		read := 0
		for stored, err := range table.Overrides(ctx, name, "") {
			if read++; read > StaleRead {
				found.Unread = append(found.Unread, name)
				break
			}
			one := StaleOverride{Rule: name}
			switch {
			case err == nil:
				one.Key, err = stored.Key, fits(old, next, stored)
			case !errors.Is(err, ruletable.ErrUnreadable):
				return nil, err
			}
			if err == nil {
				continue
			}
			if found.Count++; found.Count <= StaleShown {
				one.Reason = operator.OneLine(err)
				found.Overrides = append(found.Overrides, one)
			}
		}
	}
	return found, nil
}

func fits(old, next *rules.Set, stored *ruletable.Override) error {
	o, err := operator.ParseStored(stored)
	if err != nil {
		return err
	}
	if next.Rehashed(old, stored.Rule, stored.Key) {
		return errors.New("its key is a hash, and found only if these rules have made it: by their secret, of a key of their form")
	}
	return next.CheckOverride(stored.Rule, stored.Key, o)
}
