package operator

import (
	"context"
	"iter"
	"time"

	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// VersionReport describes a published version.
type VersionReport struct {
	Version int64     `json:"version"`
	InForce bool      `json:"in_force"`
	Who     string    `json:"who"`
	When    time.Time `json:"when"`
	Why     string    `json:"why"`
}

// DocumentReport is a published version with its rules.
type DocumentReport struct {
	VersionReport
	Document string `json:"document"`
}

// Versions returns the newest versions of a table; a limit of 0 is none.
func Versions(ctx context.Context, t *session.Table, limit int) ([]VersionReport, error) {
	return first(t.Versions(ctx), limit, func(v *ruletable.Version) VersionReport {
		return VersionReport{v.Number, v.InForce, v.Who, v.When, v.Why}
	})
}

// first reports the first items of a sequence, as many as the limit says.
func first[T, R any](items iter.Seq2[T, error], limit int, report func(*T) R) ([]R, error) {
	reports := []R{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		reports = append(reports, report(&item))
		if len(reports) == limit {
			break
		}
	}
	return reports, nil
}

// Document returns a published version; 0 is the one in force.
func Document(ctx context.Context, t *session.Table, version int64) (*DocumentReport, error) {
	current, err := t.Current(ctx)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		version = current
	}
	v, err := t.Get(ctx, version)
	if err != nil {
		return nil, err
	}
	return &DocumentReport{VersionReport{v.Number, v.Number == current, v.Who, v.When, v.Why}, string(v.Document)}, nil
}

// EventReport is one change of a rules table.
type EventReport struct {
	When    time.Time      `json:"when"`
	Who     string         `json:"who"`
	Kind    ruletable.Kind `json:"kind"`
	From    int64          `json:"from_version,omitempty"`
	To      int64          `json:"to_version,omitempty"`
	Rule    string         `json:"rule,omitempty"` // of an override; "plan" for those of callers' plans
	Key     string         `json:"key,omitempty"`
	Counter string         `json:"counter,omitempty"` // that was reset
	Before  string         `json:"before,omitempty"`  // the override's document
	After   string         `json:"after,omitempty"`
	Grant   *GrantedUnits  `json:"grant,omitempty"`
	Grants  []GrantedUnits `json:"grants,omitempty"`  // deleted with the override before they had ended
	Written int            `json:"written,omitempty"` // overrides imported
	Total   int            `json:"total,omitempty"`   // overrides to be imported
	Failure string         `json:"failure,omitempty"` // why some were not
	Why     string         `json:"why"`
}

// GrantedUnits is a grant as the history has it.
type GrantedUnits struct {
	Limit string    `json:"limit"` // empty for a rule's only limit
	Add   int64     `json:"add"`
	Until time.Time `json:"until"`
}

// Events returns the latest changes of a table; a limit of 0 is none.
func Events(ctx context.Context, t *session.Table, limit int) ([]EventReport, error) {
	return first(t.History(ctx), limit, reportEvent)
}

func reportEvent(e *ruletable.Event) EventReport {
	report := EventReport{
		When: e.When, Who: e.Who, Kind: e.Kind, From: e.From, To: e.To, Rule: e.Rule, Key: e.Key, Counter: e.Counter, Before: e.Before, After: e.After,
		Written: e.Written, Total: e.Total, Failure: e.Failure, Why: e.Why,
	}
	if g := e.Grant; g != nil {
		report.Grant = &GrantedUnits{g.Limit, g.Add, g.Until}
	}
	for _, g := range e.Grants {
		report.Grants = append(report.Grants, GrantedUnits{g.Limit, g.Add, g.Until})
	}
	return report
}
