package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// OverrideLookup resolves by the rules and by the overrides that operators have
// set by command. It reads each override once, by a consistent read, to show the
// table's current state; limiters use a cache instead.
type OverrideLookup struct {
	engine.Resolver
	table *ruletable.Table // nil if the rules are in a file: no overrides are set by command then
	found map[[2]string]storedOverride
}

// storedOverride is the table's item of one key; the zero value if there is none.
type storedOverride struct {
	ruletable.Override
	parsed *rules.Override
	err    error // ErrUnreadable: the item cannot be read
}

// NewLookup returns the lookup of a set and its table at a time; the table is nil for
// rules in a file.
func NewLookup(set *rules.Set, table *ruletable.Table, now time.Time) *OverrideLookup {
	l := &OverrideLookup{table: table, found: map[[2]string]storedOverride{}}
	l.Resolver = engine.Resolver{Set: set, Overrides: l, Now: now}
	return l
}

// Stored returns the table's item of a key. If it is unreadable, the error is
// ErrUnreadable, and the item has the attributes that could be read.
func (l *OverrideLookup) Stored(ctx context.Context, rule, key string) (storedOverride, error) {
	at := [2]string{rule, key}
	if found, ok := l.found[at]; ok || l.table == nil {
		return found, found.err
	}
	item, err := l.table.Override(ctx, rule, key)
	if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return storedOverride{}, err
	}
	found := storedOverride{err: err}
	if item != nil {
		found.Override = *item
		if found.parsed, err = ParseStored(item); err != nil {
			found.err = fmt.Errorf("%w: %w", ruletable.ErrUnreadable, err)
		}
	}
	l.found[at] = found
	return found, found.err
}

// Override implements engine.OverrideSource.
func (l *OverrideLookup) Override(ctx context.Context, _ time.Time, rule, key string) (*rules.Override, error) {
	found, err := l.Stored(ctx, rule, key)
	return found.parsed, err
}

// report describes the override that a resolution found for a key; nil for
// none. One that cannot be read has left the document's to decide.
func (l *OverrideLookup) report(rule, key string, o *rules.Override) *OverrideReport {
	if o == nil {
		return nil
	}
	found := l.found[[2]string{rule, key}]
	if found.err != nil {
		found = storedOverride{}
	}
	if o != found.parsed {
		return ReportOverride(o, nil, found.Grants, l.Now)
	}
	return ReportOverride(o, &found.Note, found.Grants, l.Now)
}

// Overlay returns the override that decides about a key, the table's or the
// document's, and its report; both nil for none.
func (l *OverrideLookup) Overlay(ctx context.Context, rule, key string) (*rules.Override, *OverrideReport, error) {
	found, err := l.Stored(ctx, rule, key)
	if err != nil {
		return nil, nil, err
	}
	o := l.Set.Overlay(rule, key, found.parsed, l.Now)
	return o, l.report(rule, key, o), nil
}

// ParseStored reads the document of a stored override.
func ParseStored(item *ruletable.Override) (*rules.Override, error) {
	return item.Compile(fmt.Sprintf("override of rule %s for key %s", item.Rule, item.Key))
}
