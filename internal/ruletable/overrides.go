package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Override returns what was said of a key, nil if nothing was. An item that is not this package's is ErrUnreadable.
func (t *Table) Override(ctx context.Context, rule, key string) (*Override, error) {
	return t.override(ctx, rule, key, true)
}

func (t *Table) override(ctx context.Context, rule, key string, consistent bool) (*Override, error) {
	at, err := overrideAt(rule, key)
	if err != nil {
		return nil, err
	}
	found, err := t.get(ctx, at, consistent)
	if err != nil || found == nil {
		return nil, err
	}
	o, err := overrideOf(rule, found)
	if err != nil {
		return nil, t.errorf("%w", err)
	}
	return o, nil
}

// SetOverride replaces the document of a key, or puts the first one; grants stay until they end. o.Revision is the one that
// the operator saw, 0 for none: it fails with ErrConflict if another is stored by now. The caller has checked the document.
func (t *Table) SetOverride(ctx context.Context, o Override) error {
	if o.Document == "" {
		return fmt.Errorf("override of rule %s for key %q: an empty document says nothing; delete the override instead", o.Rule, o.Key)
	}
	return t.edit(ctx, o.Rule, o.Key, func(old *Override) (*Override, Event, error) {
		e := Event{Note: o.Note, Kind: OverrideSet, Rule: o.Rule, Key: o.Key, After: o.Document}
		next, seen := o, int64(0)
		if next.Grants = nil; old != nil {
			next.Grants, e.Before, seen = old.Grants, old.Document, old.Revision
		}
		if seen != o.Revision {
			return nil, Event{}, t.errorf("override of rule %s for key %q: %w", o.Rule, o.Key, ErrConflict)
		}
		return &next, e, nil
	})
}

// DeleteOverride removes what was said of a key, its grants too, whatever the revision, and also an item that cannot be
// read. It fails with ErrNoOverride if there was nothing.
func (t *Table) DeleteOverride(ctx context.Context, rule, key string, note Note) error {
	e := Event{Note: note, Kind: OverrideDeleted, Rule: rule, Key: key}
	err := t.edit(ctx, rule, key, func(old *Override) (*Override, Event, error) {
		if old == nil {
			return nil, Event{}, t.errorf("override of rule %s for key %q: %w", rule, key, ErrNoOverride)
		}
		e.Before, e.Grants = old.Document, old.live(note.When)
		return nil, e, nil
	})
	if !errors.Is(err, ErrUnreadable) {
		return err
	}
	at, err := overrideAt(rule, key)
	if err != nil {
		return err
	}
	return t.transact(ctx, e, change{remove: at, condition: "attribute_exists(p)"})
}

// Grant raises a capacity of a key for a time, beside the grants that it has, and forgets those that have ended. A grant
// is one more each time: after a failure whose outcome is unknown, look at the override before granting again.
func (t *Table) Grant(ctx context.Context, rule, key string, g Grant) error {
	if g.Add < 1 || !g.When.Before(g.Until) {
		return fmt.Errorf("grant to key %q of rule %s: it adds 1 or more and ends after it begins: got %+d from %v until %v",
			key, rule, g.Add, g.When, g.Until)
	}
	return t.edit(ctx, rule, key, func(old *Override) (*Override, Event, error) {
		next := Override{Rule: rule, Key: key, Note: g.Note}
		if old != nil {
			next = *old
		}
		next.Grants = append(slices.Clip(next.Grants), g)
		return &next, Event{Note: g.Note, Kind: Granted, Rule: rule, Key: key, Grant: &g}, nil
	})
}

// Overrides yields what was said of a rule's keys that begin with prefix, "" for all, in the order of the keys' bytes. It
// reads those alone, by pages, so taking the first few is cheap. An item that cannot be read yields ErrUnreadable and the
// next follows; any other error is the last.
func (t *Table) Overrides(ctx context.Context, rule, prefix string) iter.Seq2[*Override, error] {
	in := &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("p = :p"),
		ExpressionAttributeValues: item{":p": textValue(overridePartition + rule)},
	}
	if prefix != "" { // DynamoDB takes no empty text here
		in.KeyConditionExpression = aws.String("p = :p and begins_with(s, :prefix)")
		in.ExpressionAttributeValues[":prefix"] = textValue(prefix)
	}
	return func(yield func(*Override, error) bool) {
		if len(prefix) > maxSort || !utf8.ValidString(prefix) {
			yield(nil, fmt.Errorf("overrides of rule %s: no key begins with %.100q: keys are UTF-8 of at most %d bytes", rule, prefix, maxSort))
			return
		}
		for found, err := range t.pages(ctx, in) {
			if err != nil {
				yield(nil, err)
				return
			}
			o, err := overrideOf(rule, found)
			if err != nil {
				err = t.errorf("%w", err)
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// edit replaces an override, nil for none, by what alter makes of it, nil for nothing. It starts again if somebody else
// has changed the override meanwhile, which its revision shows.
func (t *Table) edit(ctx context.Context, rule, key string, alter func(old *Override) (*Override, Event, error)) error {
	for attempt := 1; ; attempt++ {
		old, err := t.Override(ctx, rule, key)
		if err != nil {
			return err
		}
		next, e, err := alter(old)
		if err != nil {
			return err
		}
		if err = t.replace(ctx, old, next, e); !errors.Is(err, ErrConflict) || attempt == maxAttempts {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// replace writes an override, or removes it, if the old one is the one that is stored.
func (t *Table) replace(ctx context.Context, old, next *Override, e Event) error {
	c := change{condition: "attribute_not_exists(p)"}
	if old != nil {
		c.condition, c.values = attrRevision+" = :seen", item{":seen": numberValue(old.Revision)}
	}
	var err error
	if next != nil {
		c.put, err = next.item(e.When)
	} else {
		c.remove, err = overrideAt(old.Rule, old.Key)
	}
	if err != nil {
		return err
	}
	return t.transact(ctx, e, c)
}
