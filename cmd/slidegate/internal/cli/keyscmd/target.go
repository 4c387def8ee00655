package keyscmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// target is one key of a rule in a table whose override a command shows
// or changes.
type target struct {
	Rule string // or rules.PlanOverrides
	Key  string

	table  *ruletable.Table
	set    *rules.Set // in force
	unused string     // why no request looks the key up; empty if requests do
}

// open returns the target for a key that the rule's requests look up. The key has
// its values as they are, or as overrides list prints it.
func open(ctx context.Context, table *ruletable.Table, rule, key string) (*target, error) {
	set, _, err := session.InForce(ctx, table)
	t := &target{Rule: rule, table: table, set: set}
	if err == nil {
		err = operator.CheckOverrideRule(set, rule)
	}
	if err == nil {
		t.Key, err = set.OverrideKey(rule, key)
	}
	return t, err
}

// openStored returns the target for an override that may have outlived its rule
// or the form of its keys. It warns if no request looks the key up.
func openStored(ctx context.Context, c *command.Console, table *ruletable.Table, rule, key string) (*target, error) {
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	set, _, err := session.InForce(ctx, table)
	if err != nil {
		return nil, err
	}
	t := &target{Rule: rule, table: table, set: set}
	wanted, err := t.find(ctx, key)
	if err == nil && t.unused != "" {
		c.Warn("the %s is in the table under a key that no request looks up: %s", t.name(), t.unused)
		if wanted != "" {
			c.Warn("requests look up key %s: write that for its override", text.Printable(wanted))
		}
	}
	return t, err
}

// name is how messages name the override.
func (t *target) name() string {
	return fmt.Sprintf("override of rule %s for key %s", t.Rule, text.Printable(t.Key))
}

// find selects the key that the user typed, if the table has it, and else the one
// by which requests look it up, which it returns; empty if that is not known.
func (t *target) find(ctx context.Context, typed string) (wanted string, err error) {
	wanted, mismatch := t.set.OverrideKey(t.Rule, typed)
	asTyped, err := t.has(ctx, typed)
	switch {
	case err != nil:
	case asTyped:
		t.Key, t.unused = typed, unused(t.set, t.Rule, typed)
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
func (t *target) has(ctx context.Context, text string) (bool, error) {
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
func (t *target) addHint(ctx context.Context, mismatch error) error {
	next, stop := iter.Pull2(t.table.Overrides(ctx, t.Rule, ""))
	defer stop()
	if _, err, ok := next(); !ok || err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
		return mismatch
	}
	return errors.Join(mismatch, fmt.Errorf("the table has overrides of %s: write the key as `slidegate overrides list %s` prints it", t.Rule, t.Rule))
}

// unused returns why no request looks up a key of the table; empty if requests
// do.
func unused(set *rules.Set, rule, key string) string {
	if err := set.CheckOverride(rule, key, &rules.Override{}); err != nil {
		return text.Printable(err.Error())
	}
	return ""
}

// read returns what the table has for the key, and a report on the override that
// decides: nil for none, and for one that cannot be read.
func (t *target) read(ctx context.Context, now time.Time) (ruletable.Override, *operator.OverrideReport, error) {
	lookup := operator.NewLookup(t.set, t.table, now)
	found, err := lookup.Stored(ctx, t.Rule, t.Key)
	if err != nil {
		return found.Override, nil, err
	}
	_, report, err := lookup.Overlay(ctx, t.Rule, t.Key)
	return found.Override, report, err
}

// shownOverride shows the override of one key.
type shownOverride struct {
	Rule     string                   `json:"rule"`
	Key      string                   `json:"key"`
	Override *operator.OverrideReport `json:"override"`
	Document ruletable.JSONText       `json:"document,omitempty"`
	Unused   string                   `json:"unused,omitempty"` // why no request looks the key up
}

// changeReport shows a change of the override of one key.
type changeReport struct {
	Rule   string                   `json:"rule"`
	Key    string                   `json:"key"`
	Before *operator.OverrideReport `json:"before"`
	After  *operator.OverrideReport `json:"after"`

	BeforeDocument string `json:"-"` // as stored; empty for none
}

// get shows the override of the key. It fails if there is none.
func (t *target) get(ctx context.Context) (*shownOverride, error) {
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	stored, report, err := t.read(ctx, time.Now())
	if err == nil && report == nil {
		err = fmt.Errorf("%s: %w", t.name(), ruletable.ErrNoOverride)
	}
	return &shownOverride{t.Rule, t.Key, report, ruletable.JSONText(stored.Document), t.unused}, err
}

// replace sets the override of the key to a document, which it checks against the
// rules in force. Grants stay.
func (t *target) replace(ctx context.Context, document string, note ruletable.Note) (*changeReport, error) {
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

// remove deletes the override of the key and its grants. One that cannot be read
// can be deleted too.
func (t *target) remove(ctx context.Context, note ruletable.Note) (*changeReport, error) {
	return t.change(ctx, note.When, func(ctx context.Context, _ int64, err error) error {
		if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
			return err
		}
		return t.table.DeleteOverride(ctx, t.Rule, t.Key, note)
	})
}

// change makes a change of the override and reports it. The change gets the
// revision of the override, 0 for none, or the error of reading it.
func (t *target) change(
	ctx context.Context, now time.Time, apply func(ctx context.Context, revision int64, err error) error,
) (*changeReport, error) {
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	stored, before, err := t.read(ctx, now)
	if err := apply(ctx, stored.Revision, err); err != nil {
		return nil, err
	}
	_, after, err := t.read(ctx, now)
	return &changeReport{t.Rule, t.Key, before, after, stored.Document}, err
}
