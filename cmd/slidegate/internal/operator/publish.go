package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

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

// Traffic is recorded traffic that shows what new rules change.
type Traffic struct {
	logs.Traffic // without logs for none
	Listener     Listener
}

// compare adds what next changes about the old rules. table is nil if those are
// in a file.
func (r *ChangeReport) compare(ctx context.Context, table *ruletable.Table, next *rules.Set, traffic *Traffic) (err error) {
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
			names = append(ruleNames(next), rules.PlanOverrides)
		}
		if r.StaleOverrides, err = findStale(ctx, table, r.old, next, names); err != nil {
			return err
		}
	}
	if len(traffic.Logs) > 0 {
		if r.old == nil {
			return fmt.Errorf("--against: there is nothing to compare with: %w", r.Invalid)
		}
		r.Against, err = compare(ctx, traffic, r.old, next, table)
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

// Diff says what a rules file changes about another file, or about the version
// in force of a table.
func Diff(ctx context.Context, file string, where session.Locations, traffic *Traffic) (*ChangeReport, error) {
	next, _, err := session.ReadRules(file)
	if err != nil {
		return nil, err
	}
	WarnAll(traffic.Listener, warnings(next))
	var table *ruletable.Table
	report := ChangeReport{Baseline: where.RulesFile}
	if where.RulesTable == "" {
		report.old, _, err = session.ReadRules(where.RulesFile)
	} else {
		table, report, err = changesOf(ctx, where.RulesTable)
	}
	if err != nil {
		return nil, err
	}
	if err := report.compare(ctx, table, next, traffic); err != nil {
		return nil, err
	}
	return &report, report.Invalid
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
func PrepareApply(ctx context.Context, file, tableName string, traffic *Traffic) (*Publication, error) {
	next, document, err := session.ReadRules(file)
	if err != nil {
		return nil, err
	}
	WarnAll(traffic.Listener, next.Warnings)
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
	if err := p.Report.compare(ctx, table, next, traffic); err != nil {
		return nil, err
	}
	WarnAll(traffic.Listener, next.Caveats)
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

// PrepareRollback prepares to put an earlier version in force again. A version
// that is not valid here is refused: limiters would refuse it too.
func PrepareRollback(ctx context.Context, tableName string, to int64, traffic *Traffic) (*Publication, error) {
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
	return p, p.Report.compare(ctx, table, next, traffic)
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

// DocumentReport is a published version with its rules.
type DocumentReport struct {
	ruletable.Version
	Text     string            `json:"text"` // as its author wrote it
	Document *ruledoc.Document `json:"document"`
}

// First returns the first items of a sequence; a limit of 0 is none.
func First[T any](items iter.Seq2[T, error], limit int) ([]T, error) {
	first := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if first = append(first, item); len(first) == limit {
			break
		}
	}
	return first, nil
}

// Document returns a published version; 0 is the one in force.
func Document(ctx context.Context, t *ruletable.Table, version int64) (*DocumentReport, error) {
	current, err := t.Current(ctx)
	if err != nil && (version == 0 || !errors.Is(err, ruletable.ErrDamaged)) {
		return nil, err
	}
	if version == 0 {
		version = current
	}
	v, err := t.Get(ctx, version)
	if err != nil {
		return nil, err
	}
	v.InForce = v.Number == current
	return &DocumentReport{*v, string(v.Text), v.Document}, nil
}
