package rulestable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// PlanOverrides stands for a rule's name where an override gives a caller another
// plan, or denies all its requests. The rules need plan.overrides.
const PlanOverrides = ruledoc.PlanOverrides

// Kinds of errors, for errors.Is.
var (
	// ErrNoRule means that the rules in force have no rule of this name.
	ErrNoRule = rules.ErrNoRule
	// ErrNoOverride means that the table has no override of the key. The rules
	// themselves may have one.
	ErrNoOverride = ruletable.ErrNoOverride
	// ErrConflict means that another writer has changed the override first. The
	// table is as that writer left it: read the override, and decide again.
	ErrConflict = ruletable.ErrConflict
)

// Note says who changes an override, and why. `slidegate rules history` shows it.
type Note struct {
	Who  string    // such as the name of the program; required
	Why  string    // such as the number of an invoice, at most 500 bytes; required
	When time.Time // filled in by [Table.Override]; changes have the time of the call
}

// Override is what one key has in place of its rule's limits. It states one of
// Capacity, Unlimited, Deny and Plan. A customer may send 20,000 requests in each
// window of the rule until the end of March:
//
//	rulestable.Override{
//		Capacity: map[string]int64{"": 20_000}, Until: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC),
//		Note: rulestable.Note{Who: "billing", Why: "invoice 83"},
//	}
type Override struct {
	// Capacity replaces those of the rule's limits, by the limit's name, or by ""
	// for a rule's only limit. It is in units for each window, from 1. Everything
	// else of a limit stays, and so does what is used.
	Capacity  map[string]int64
	Unlimited bool   // the rule does not limit the key
	Deny      bool   // every request of the key is refused
	Plan      string // the caller's plan, a name among the rules' plans; for PlanOverrides

	// Until is when the override ends by itself, and the rules apply again. The
	// zero Time is never.
	Until time.Time
	Note

	// Revision is a number for each state of the override, which [Table.Override]
	// returns. SetOverride then replaces this state only, or fails with ErrConflict.
	// With 0 it replaces any state: the last writer wins.
	Revision int64

	// Document is the override as the table has it, in JSON. It also has limits
	// that replace all of the rule's, which only a command can set. SetOverride
	// ignores Document and Unused.
	Document string
	// Unused is why no request looks the key up, such as that the rule was renamed;
	// nil if requests do.
	Unused error
}

// Override returns the override that the table has for a key of a rule, set by
// SetOverride or by command, also if it has ended. ErrNoOverride means that there
// is none, or grants alone. [Table.SetOverride] explains keys.
//
// It makes three consistent reads, of the rules in force and of the override, and
// a fourth for a key that is not written as requests look it up. An item of up
// to 4 KB is one read unit.
func (t *Table) Override(ctx context.Context, rule, key string) (*Override, error) {
	target, err := ruletable.New(t.client, t.name).StoredTarget(ctx, rule, key)
	if err != nil {
		return nil, err
	}
	stored, err := target.Override(ctx, rule, target.Key)
	if err != nil {
		return nil, err
	}
	if stored == nil || stored.Document == "" {
		return nil, fmt.Errorf("override of rule %s for key %q: %w", rule, target.Key, ErrNoOverride)
	}
	d, err := ruledoc.UnmarshalOverride([]byte(stored.Document))
	if err != nil {
		return nil, fmt.Errorf("override of rule %s for key %q: %w: %w", rule, target.Key, ruletable.ErrUnreadable, err)
	}
	return &Override{
		Capacity: d.Capacity, Unlimited: d.Unlimited, Deny: d.Deny, Plan: d.Plan, Until: d.Until,
		Note:     Note{stored.Who, cmp.Or(d.Why, stored.Why), stored.When},
		Revision: stored.Revision, Document: stored.Document, Unused: target.Unused,
	}, nil
}

// SetOverride sets the override of one key of a rule in place of the one that the
// key has, as `slidegate overrides set` does: limiters apply it within ten
// seconds, grants stay, and the same transaction adds a line to the history. The
// rule must say overrides: true. The key is one of the rule's override keys, such
// as "tenant:acme": special characters of a value are escaped for you, and a
// hashed key needs its secret in the environment.
//
// The override must fit the rules in force. If it does not, the error lists what
// is wrong, and nothing is written. Other errors are ErrNoRule, ErrConflict, and
// those of DynamoDB. After an error that leaves the outcome open, such as a
// timeout, call SetOverride again, which does no harm but a second line in the
// history: the client never sends a write again by itself. Give ctx a deadline of
// some seconds.
//
// Trade-off: the rules in force may change a moment later. If they lack the limit
// then, limiters log that the override does not fit, and the rule's limit holds.
//
// It makes three consistent reads, as Override does, and a transaction of two
// items: four write units, if each is below 1 KB.
func (t *Table) SetOverride(ctx context.Context, rule, key string, o Override) error {
	note, err := t.note(o.Note)
	if err != nil {
		return err
	}
	target, err := ruletable.New(t.client, t.name).Target(ctx, rule, key)
	if err != nil {
		return err
	}
	d := ruledoc.Override{Capacity: o.Capacity, Unlimited: o.Unlimited, Deny: o.Deny, Plan: o.Plan, Until: o.Until.UTC()}
	return target.Replace(ctx, d, cmp.Or(o.Revision, ruletable.AnyRevision), note)
}

// DeleteOverride removes the override of one key of a rule and its grants, as
// `slidegate overrides delete` does: the rules apply again within ten seconds, and
// what is used stays used. ErrNoOverride means that there is none. DeleteOverride
// also removes one that cannot be read, and one that no request looks up any more,
// by the key that `slidegate overrides list` prints.
//
// It costs what SetOverride does.
func (t *Table) DeleteOverride(ctx context.Context, rule, key string, n Note) error {
	note, err := t.note(n)
	if err != nil {
		return err
	}
	target, err := ruletable.New(t.client, t.name).StoredTarget(ctx, rule, key)
	if err != nil {
		return err
	}
	return target.DeleteOverride(ctx, rule, target.Key, note)
}

// note returns the note of a change that is made now.
func (t *Table) note(n Note) (ruletable.Note, error) {
	if n.Who == "" || n.Why == "" {
		return ruletable.Note{}, errors.New("a change of an override needs Who and Why in its Note, for the history")
	}
	return ruletable.Note{Who: n.Who, Why: n.Why, When: t.client.Clock.Now()}, nil
}
