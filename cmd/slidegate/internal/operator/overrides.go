package operator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// OverrideTarget is one key of a rule in a table whose override a command shows
// or changes.
type OverrideTarget struct {
	Rule string // or rules.PlanOverrides
	Key  string

	table  *ruletable.Table
	set    *rules.Set // in force
	unused string     // why no request looks the key up; empty if requests do
}

// FindKey returns the target for a key that the rule's requests look up. The key
// has its values as they are, or as overrides list prints it.
func FindKey(ctx context.Context, from, rule, key string) (t *OverrideTarget, err error) {
	t = &OverrideTarget{Rule: rule}
	if t.table, t.set, err = session.OpenRules(ctx, from); err == nil {
		err = checkOverrideRule(t.set, rule)
	}
	if err == nil {
		t.Key, err = t.set.OverrideKey(rule, key)
	}
	return t, err
}

// FindStored returns the target for an override that may have outlived its rule
// or the form of its keys. It warns if no request looks the key up.
func FindStored(ctx context.Context, from, rule, key string, listener Listener) (t *OverrideTarget, err error) {
	t = &OverrideTarget{Rule: rule}
	if t.table, t.set, err = session.OpenRules(ctx, from); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	wanted, err := t.find(ctx, key)
	if err == nil && t.unused != "" {
		listener.Warn("the %s is in the table under a key that no request looks up: %s", t.name(), t.unused)
		if wanted != "" {
			listener.Warn("requests look up key %s: write that for its override", text.Printable(wanted))
		}
	}
	return t, err
}

// name is how messages name the override.
func (t *OverrideTarget) name() string {
	return fmt.Sprintf("override of rule %s for key %s", t.Rule, text.Printable(t.Key))
}

// find selects the key that the user typed, if the table has it, and else the one
// by which requests look it up, which it returns; empty if that is not known.
func (t *OverrideTarget) find(ctx context.Context, typed string) (wanted string, err error) {
	wanted, mismatch := t.set.OverrideKey(t.Rule, typed)
	asTyped, err := t.has(ctx, typed)
	switch {
	case err != nil:
	case asTyped:
		t.Key, t.unused = typed, Unused(t.set, t.Rule, typed)
	case errors.Is(mismatch, key.ErrHashSecret):
		err = mismatch // requests look up a hash of it, which is not known here
	case mismatch != nil:
		err = t.addHint(ctx, mismatch)
	default:
		t.Key = wanted
	}
	return wanted, err
}

// has reports whether the table has an override of the key, readable or not.
func (t *OverrideTarget) has(ctx context.Context, text string) (bool, error) {
	if text == "" || len(text) > key.MaxLen || !utf8.ValidString(text) {
		return false, nil // no command could have set it
	}
	stored, err := t.table.Override(ctx, t.Rule, text)
	if errors.Is(err, ruletable.ErrUnreadable) {
		return true, nil
	}
	return stored != nil, err
}

// addHint adds to a mismatch where keys are listed, if the table has any of the
// rule.
func (t *OverrideTarget) addHint(ctx context.Context, mismatch error) error {
	next, stop := iter.Pull2(t.table.Overrides(ctx, t.Rule, ""))
	defer stop()
	if _, err, ok := next(); !ok || err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return mismatch
	}
	return errors.Join(mismatch, fmt.Errorf("the table has overrides of %s: write the key as `slidegate overrides list %s` prints it", t.Rule, t.Rule))
}

// Unused returns why no request looks up a key of the table; empty if requests
// do.
func Unused(set *rules.Set, rule, key string) string {
	if err := set.CheckOverride(rule, key, &rules.Override{}); err != nil {
		return text.Printable(err.Error())
	}
	return ""
}

// read returns what the table has for the key, and a report on the override that
// decides: nil for none, and for one that cannot be read.
func (t *OverrideTarget) read(ctx context.Context, now time.Time) (ruletable.Override, *OverrideReport, error) {
	lookup := newLookup(t.set, t.table, now)
	found, err := lookup.stored(ctx, t.Rule, t.Key)
	if err != nil {
		return found.Override, nil, err
	}
	_, report, err := lookup.overlay(ctx, t.Rule, t.Key)
	return found.Override, report, err
}

// KeyReport shows the override of one key.
type KeyReport struct {
	Rule     string             `json:"rule"`
	Key      string             `json:"key"`
	Override *OverrideReport    `json:"override"`
	Document ruletable.JSONText `json:"document,omitempty"`
	Unused   string             `json:"unused,omitempty"` // why no request looks the key up
}

// KeyChangeReport shows a change of the override of one key.
type KeyChangeReport struct {
	Rule   string          `json:"rule"`
	Key    string          `json:"key"`
	Before *OverrideReport `json:"before"`
	After  *OverrideReport `json:"after"`

	BeforeDocument string `json:"-"` // as stored; empty for none
}

// Get shows the override of the key. It fails if there is none.
func (t *OverrideTarget) Get(ctx context.Context) (*KeyReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	stored, report, err := t.read(ctx, time.Now())
	if err == nil && report == nil {
		err = fmt.Errorf("%s: %w", t.name(), ruletable.ErrNoOverride)
	}
	return &KeyReport{t.Rule, t.Key, report, ruletable.JSONText(stored.Document), t.unused}, err
}

// Set sets the override of the key to a document, which it checks against the
// rules in force. Grants stay.
func (t *OverrideTarget) Set(ctx context.Context, document string, note ruletable.Note) (*KeyChangeReport, error) {
	o, _, err := parseOverride(document)
	if err != nil {
		return nil, err
	}
	if err := t.set.CheckOverride(t.Rule, t.Key, o); err != nil {
		return nil, err
	}
	return t.change(ctx, note.When, func(ctx context.Context, revision int64, err error) error {
		if err != nil {
			return err
		}
		return t.table.SetOverride(ctx, ruletable.Override{Rule: t.Rule, Key: t.Key, Document: document, Note: note, Revision: revision})
	})
}

// Delete deletes the override of the key and its grants. One that cannot be read
// can be deleted too.
func (t *OverrideTarget) Delete(ctx context.Context, note ruletable.Note) (*KeyChangeReport, error) {
	return t.change(ctx, note.When, func(ctx context.Context, _ int64, err error) error {
		if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
			return err
		}
		return t.table.DeleteOverride(ctx, t.Rule, t.Key, note)
	})
}

// change makes a change of the override and reports it. The change gets the
// revision of the override, 0 for none, or the error of reading it.
func (t *OverrideTarget) change(
	ctx context.Context, now time.Time, apply func(ctx context.Context, revision int64, err error) error,
) (*KeyChangeReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	stored, before, err := t.read(ctx, now)
	if err := apply(ctx, stored.Revision, err); err != nil {
		return nil, err
	}
	_, after, err := t.read(ctx, now)
	return &KeyChangeReport{t.Rule, t.Key, before, after, stored.Document}, err
}
