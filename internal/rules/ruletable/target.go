package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	rulekey "github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// InForce returns the rules in force and the number of their version. It takes the
// secret of hashed keys from the environment; if it is missing there, only a key
// that must be hashed is an error.
func (t *Table) InForce(ctx context.Context) (set *rules.Set, version int64, err error) {
	if version, err = t.Current(ctx); err == nil {
		set, err = t.Rules(ctx, version)
	}
	if err == nil {
		_ = set.LoadHashSecret(os.LookupEnv)
	}
	return set, version, err
}

// Target is one key of a rule in a table, whose override a person or a program
// reads or changes.
type Target struct {
	*Table
	Set    *rules.Set // in force
	Rule   string     // or rules.PlanOverrides
	Key    string
	Wanted string // the key by which requests look it up; "" if that is not known
	Unused error  // why no request looks Key up; nil if requests do
}

// Target returns the target for a key that the rule's requests look up. The text
// has the key's values as they are, or as lists print them. For an unknown rule
// the error is rules.ErrNoRule, and the target has the rules in force alone.
func (t *Table) Target(ctx context.Context, rule, text string) (*Target, error) {
	set, _, err := t.InForce(ctx)
	if err != nil {
		return &Target{}, err
	}
	wanted, err := set.OverrideKey(rule, text)
	return &Target{Table: t, Set: set, Rule: rule, Key: wanted, Wanted: wanted}, err
}

// StoredTarget returns the target for an override that may have outlived its rule
// or the form of its keys: that of the key as given, if the table has it, and
// else of the one by which requests look it up.
func (t *Table) StoredTarget(ctx context.Context, rule, text string) (*Target, error) {
	target, mismatch := t.Target(ctx, rule, text)
	if target.Set == nil || mismatch == nil && target.Key == text {
		return target, mismatch
	}
	asGiven, err := target.has(ctx, text)
	switch {
	case err != nil:
	case asGiven:
		target.Key, target.Unused = text, target.Set.CheckOverride(rule, text, &rules.Override{})
	case errors.Is(mismatch, rulekey.ErrHashSecret):
		err = mismatch // requests look up a hash of it, which is not known here
	case mismatch != nil:
		err = target.addHint(ctx, mismatch)
	}
	return target, err
}

// has reports whether the table has an override of the key, readable or not.
func (t *Target) has(ctx context.Context, text string) (bool, error) {
	at, invalid := overrideAt(t.Rule, text)
	if invalid == nil {
		found, err := t.get(ctx, at, true)
		return found != nil, err
	}
	return false, nil // nothing could have set it
}

// addHint adds to a mismatch where keys are listed, if the table has any of the
// rule.
func (t *Target) addHint(ctx context.Context, mismatch error) error {
	next, stop := iter.Pull2(t.Overrides(ctx, t.Rule, ""))
	defer stop()
	if _, err, ok := next(); !ok || err != nil && !errors.Is(err, ErrUnreadable) {
		return mismatch
	}
	return errors.Join(mismatch, fmt.Errorf("the table has overrides of %s: write the key as `slidegate overrides list %s` prints it", t.Rule, t.Rule))
}

// Replace sets the override of the key to a document, for the reason of the note.
// It checks the document against the rules in force. Grants stay. revision is that
// of the override that the author saw, as for SetOverride.
func (t *Target) Replace(ctx context.Context, d ruledoc.Override, revision int64, note Note) error {
	if d.Why = note.Why; !d.Until.IsZero() && !d.Until.After(note.When) {
		return fmt.Errorf("until: %s is past: write a later time, or none", d.Until.Format(time.RFC3339))
	}
	o, problems := rules.CompileOverride(&d)
	if len(problems) > 0 {
		return &Problems{All: problems}
	}
	document, err := ruledoc.Marshal(&d)
	if err = errors.Join(err, t.Set.CheckOverride(t.Rule, t.Key, o)); err != nil {
		return err
	}
	return t.SetOverride(ctx, Override{Rule: t.Rule, Key: t.Key, Document: string(document), Note: note, Revision: revision})
}
