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
	other  string     // a key in the table that no request looks up; empty for none
}

// OverrideOptions name the key of an override.
type OverrideOptions struct {
	Table    string
	Rule     string // or rules.PlanOverrides
	Key      string // with values as they are, or as overrides list prints it
	AsListed bool   // Key is one of the table, exactly
}

func openTarget(ctx context.Context, o *OverrideOptions) (*OverrideTarget, error) {
	table, set, err := session.OpenRules(ctx, o.Table)
	if err != nil {
		return nil, err
	}
	return &OverrideTarget{table: table, set: set, Rule: o.Rule}, nil
}

// FindKey returns the target for a key that the rule's requests look up.
func FindKey(ctx context.Context, o *OverrideOptions) (*OverrideTarget, error) {
	t, err := openTarget(ctx, o)
	if err == nil {
		err = checkOverrideRule(t.set, t.Rule)
	}
	if err == nil {
		t.Key, err = t.set.OverrideKey(t.Rule, o.Key)
	}
	return t, err
}

// FindStored returns the target for an override that may have outlived its rule
// or the form of its keys. It warns if no request looks the key up.
func FindStored(ctx context.Context, o *OverrideOptions, listener Listener) (*OverrideTarget, error) {
	t, err := openTarget(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	if o.AsListed {
		err = t.findListed(ctx, o.Key)
	} else {
		err = t.find(ctx, o.Key)
	}
	if err != nil {
		return nil, err
	}
	if t.unused != "" {
		listener.Warn("the %s is in the table under a key that no request looks up: %s", t.name(), t.unused)
	}
	if t.other != "" {
		listener.Warn("the table has one for key %s too, which no request looks up; --as-listed selects that one", text.Printable(t.other))
	}
	return t, nil
}

// name is how messages name the override.
func (t *OverrideTarget) name() string {
	return fmt.Sprintf("override of rule %s for key %s", t.Rule, text.Printable(t.Key))
}

func (t *OverrideTarget) findListed(ctx context.Context, key string) error {
	stored, err := t.has(ctx, key)
	t.use(key)
	if err == nil && !stored {
		err = fmt.Errorf("%s: %w", t.name(), ruletable.ErrNoOverride)
	}
	return err
}

// use selects a key of the table.
func (t *OverrideTarget) use(key string) { t.Key, t.unused = key, Unused(t.set, t.Rule, key) }

// find selects the key by which requests look up what the user typed. If that
// has no override, it selects the typed text itself, if the table has it.
func (t *OverrideTarget) find(ctx context.Context, typed string) error {
	wanted, mismatch := t.set.OverrideKey(t.Rule, typed)
	switch {
	case mismatch == nil && wanted == typed:
		t.Key = wanted
		return nil
	case errors.Is(mismatch, key.ErrHashSecret) && Unused(t.set, t.Rule, typed) != "":
		return mismatch // requests look up a hash of it, which is not known here
	}
	asTyped, err := t.has(ctx, typed)
	switch {
	case err != nil:
		return err
	case !asTyped && mismatch != nil:
		return t.addHint(ctx, mismatch)
	case !asTyped:
		t.Key = wanted
		return nil
	}
	t.use(typed)
	if mismatch == nil {
		var asLookedUp bool
		if asLookedUp, err = t.has(ctx, wanted); asLookedUp || t.set.Override(t.Rule, wanted) != nil {
			t.Key, t.unused, t.other = wanted, "", typed
		}
	}
	return err
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
