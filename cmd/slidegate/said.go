package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// said is what operators have said of single keys by command, as one run of a command sees it: each key is looked up once,
// by a consistent read. It is for looking into the table; what decides requests has a cache.
type said struct {
	set   *rules.Set
	table *ruletable.Table // nil where the rules are in a file: then nothing was said by command
	now   time.Time
	found map[[2]string]spoken
}

// spoken is what was said of one key; the zero value for nothing.
type spoken struct {
	stored *ruletable.Override
	parsed *rules.Override
	err    error // ErrUnreadable: what is stored cannot be read
}

// said returns the overrides of the rules, as they are at a moment.
func (g *ground) said(where *places, now time.Time) *said {
	s := &said{set: g.set, now: now, found: map[[2]string]spoken{}}
	if where.rules != "" {
		s.table = ruletable.New(g.client, where.rules)
	}
	return s
}

// decides returns the override that decides of a key, the table's or the document's, and what to tell of it; both are nil
// for none. Beside ErrUnreadable they are the document's, by which limiters go on.
func (s *said) decides(ctx context.Context, rule, key string) (*rules.Override, *overrideTold, error) {
	found, err := s.of(ctx, rule, key)
	switch {
	case errors.Is(err, ruletable.ErrUnreadable):
		found = spoken{}
	case err != nil:
		return nil, nil, err
	}
	o, told := s.overlay(rule, key, found)
	return o, told, err
}

// limits is decides as limiters do it: what the table holds of a rule that takes no overrides from there does not count.
func (s *said) limits(ctx context.Context, r *rules.Rule, key string) (*rules.Override, *overrideTold, error) {
	if !r.TakesOverrides() {
		o, told := s.overlay(r.Name, key, spoken{})
		return o, told, nil
	}
	return s.decides(ctx, r.Name, key)
}

func (s *said) overlay(rule, key string, found spoken) (*rules.Override, *overrideTold) {
	o := s.set.Overlay(rule, key, found.parsed, s.now)
	if o == nil {
		return nil, nil
	}
	told := &overrideTold{From: fromRules}
	if o == found.parsed {
		told.From = fromTable
		told.note(&found.stored.Note)
	}
	told.say(o, s.now)
	if found.stored != nil {
		told.grant(found.stored.Grants, s.now)
	}
	return o, told
}

// of returns what was said of a key. It fails with ErrUnreadable where that cannot be read, which leaves what is stored.
func (s *said) of(ctx context.Context, rule, key string) (spoken, error) {
	at := [2]string{rule, key}
	if found, ok := s.found[at]; ok || s.table == nil {
		return found, found.err
	}
	stored, err := s.table.Override(ctx, rule, key)
	if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return spoken{}, err
	}
	found := spoken{stored: stored, err: err}
	if stored != nil {
		if found.parsed, err = parseStored(stored); err != nil {
			found.err = fmt.Errorf("%w: %w", ruletable.ErrUnreadable, err)
		}
	}
	s.found[at] = found
	return found, found.err
}

// Override makes said an engine.OverrideSource.
func (s *said) Override(ctx context.Context, _ time.Time, rule, key string) (*rules.Override, error) {
	found, err := s.of(ctx, rule, key)
	return found.parsed, err
}

// parseStored reads what is stored for a key.
func parseStored(stored *ruletable.Override) (*rules.Override, error) {
	return stored.Compile(fmt.Sprintf("override of rule %s for key %s", stored.Rule, stored.Key))
}
