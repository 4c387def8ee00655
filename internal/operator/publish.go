package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
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
}

// PublishReport is a change of the version in force.
type PublishReport struct {
	Table   string `json:"table,omitempty"`   // of apply
	Version int64  `json:"version,omitempty"` // in force now; left out of a dry run
	ChangeReport
}

// Traffic is recorded traffic that shows what new rules change.
type Traffic struct {
	Logs     []replay.Log
	Listener Listener
}

// baseline is what new rules are compared with.
type baseline struct {
	name    string     // for people
	version int64      // of a table; 0 for none
	set     *rules.Set // nil for a version that is not valid
	invalid error      // why it is not
}

// report says what next changes about the baseline. table is nil if the rules
// are in files.
func (b *baseline) report(ctx context.Context, table *session.Table, next *rules.Set, traffic *Traffic) (r ChangeReport, err error) {
	r = ChangeReport{From: b.version, Changes: []ruledoc.Change{}, Baseline: b.name, Invalid: b.invalid}
	if b.set != nil {
		r.Changes = append(r.Changes, ruledoc.Diff(b.set.Document(), next.Document())...)
	}
	if table != nil {
		names := changedRules(r.Changes)
		if b.set == nil { // what has changed is not known
			names = append(ruleNames(next), rules.PlanOverrides)
		}
		if r.StaleOverrides, err = findStale(ctx, table.Table, b.set, next, names); err != nil {
			return r, err
		}
	}
	if len(traffic.Logs) > 0 {
		if b.set == nil {
			return r, fmt.Errorf("--against: there is nothing to compare with: %w", b.invalid)
		}
		r.Against, err = compare(ctx, traffic.Logs, b.set, next, table, traffic.Listener)
	}
	return r, err
}

// baselineOf returns the version in force. A table without a version, or with one
// that is not valid, is no error: a better version must be able to replace it.
func baselineOf(ctx context.Context, t *session.Table) (*baseline, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	set, version, err := t.InForce(ctx)
	b := &baseline{name: fmt.Sprintf("version %d", version), version: version, set: set}
	var invalid *ruletable.Problems
	switch {
	case errors.Is(err, ruletable.ErrNone):
		b.name = "a table without rules"
		b.set, err = rulefile.Parse("", []byte("rules: []"))
	case errors.As(err, &invalid), errors.Is(err, ruletable.ErrNoVersion), errors.Is(err, ruletable.ErrNoDocument):
		b.set, b.invalid, err = nil, err, nil
	}
	return b, err
}

// Diff says what a rules file changes about another file, or about the version
// in force of a table.
func Diff(ctx context.Context, file string, where session.Locations, traffic *Traffic) (*ChangeReport, error) {
	next, _, err := session.ReadRules(file)
	if err != nil {
		return nil, err
	}
	WarnAll(traffic.Listener, warnings(next))
	var table *session.Table
	old := &baseline{name: where.RulesFile}
	if where.RulesTable == "" {
		old.set, _, err = session.ReadRules(where.RulesFile)
	} else if table, err = session.OpenTable(ctx, where.RulesTable); err == nil {
		old, err = baselineOf(ctx, table)
	}
	if err != nil {
		return nil, err
	}
	report, err := old.report(ctx, table, next, traffic)
	if err == nil {
		err = old.invalid
	}
	return &report, err
}

// Publication is a version that is about to be put in force, and what it
// changes.
type Publication struct {
	Report PublishReport
	table  *session.Table
	from   int64             // the version in force that Report compares with
	to     int64             // a version to put in force again; 0 for a new one
	next   ruletable.Version // to publish, unless to says otherwise
}

// PrepareApply prepares to publish a rules file.
func PrepareApply(ctx context.Context, file, tableName string, traffic *Traffic) (*Publication, error) {
	set, document, err := session.ReadRules(file)
	if err != nil {
		return nil, err
	}
	WarnAll(traffic.Listener, set.Warnings)
	if err := checkSecret(file, set, "write the check of their secret, or "); err != nil {
		return nil, err
	}
	table, err := session.OpenTable(ctx, tableName)
	if err != nil {
		return nil, err
	}
	old, err := baselineOf(ctx, table)
	if err != nil {
		return nil, err
	}
	p := &Publication{Report: PublishReport{Table: tableName}, table: table, from: old.version, next: ruletable.Version{Text: document, Document: set.Document()}}
	p.Report.ChangeReport, err = old.report(ctx, table, set, traffic)
	return p, err
}

// PrepareRollback prepares to put an earlier version in force again. A version
// that is not valid here is refused: limiters would refuse it too.
func PrepareRollback(ctx context.Context, table *session.Table, to int64, traffic *Traffic) (*Publication, error) {
	reading, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	next, err := table.ReadVersion(reading, to)
	if err != nil {
		return nil, err
	}
	old, err := baselineOf(ctx, table)
	if err != nil {
		return nil, err
	}
	if old.version == to {
		return nil, fmt.Errorf("table %s: version %d: %w", table.Name, to, ruletable.ErrInForce)
	}
	if err := checkSecret(table.VersionName(to), next, ""); err != nil {
		return nil, err
	}
	p := &Publication{table: table, from: old.version, to: to}
	p.Report.ChangeReport, err = old.report(ctx, table, next, traffic)
	return p, err
}

// Publish puts the version in force, if the one that it was compared with still
// is.
func (p *Publication) Publish(ctx context.Context, note ruletable.Note) (err error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	if p.to != 0 {
		p.Report.Version = p.to
		return p.table.Rollback(ctx, p.from, p.to, note)
	}
	p.next.Note = note
	p.Report.Version, err = p.table.Publish(ctx, p.next, p.from)
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
