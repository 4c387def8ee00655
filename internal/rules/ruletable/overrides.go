package ruletable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/rules"
)

// Override returns the override of a key, nil if there is none. An item that
// this package did not write is ErrUnreadable.
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
	return t.overrideOf(rule, found)
}

// AnyRevision stands for the revision of whatever override there is.
const AnyRevision = -1

// SetOverride sets the document of a key; its grants stay until they end.
// o.Revision is the revision that the operator saw, 0 for none, or AnyRevision.
// SetOverride fails with ErrConflict if the table holds another one. The caller
// must have checked the document.
func (t *Table) SetOverride(ctx context.Context, o Override) error {
	if o.Document == "" {
		return fmt.Errorf("override of rule %s for key %q: the document is empty; delete the override instead", o.Rule, o.Key)
	}
	return t.edit(ctx, o.Rule, o.Key, func(old *Override) (*Override, Event, error) {
		if o.Revision != AnyRevision && o.Revision != old.Revision {
			return nil, Event{}, t.errorf("override of rule %s for key %q: %w", o.Rule, o.Key, ErrConflict)
		}
		next := o
		next.Grants = old.Grants
		e := Event{Note: o.Note, Kind: OverrideSet, Rule: o.Rule, Key: o.Key}
		e.Before, e.After = JSONText(old.Document), JSONText(o.Document)
		return &next, e, nil
	})
}

// DeleteOverride removes the override of a key and its grants, whatever the
// revision, even if the item is unreadable. It fails with ErrNoOverride if
// there is none.
func (t *Table) DeleteOverride(ctx context.Context, rule, key string, note Note) error {
	e := Event{Note: note, Kind: OverrideDeleted, Rule: rule, Key: key}
	err := t.edit(ctx, rule, key, func(old *Override) (*Override, Event, error) {
		if old.Revision == 0 {
			return nil, Event{}, t.errorf("override of rule %s for key %q: %w", rule, key, ErrNoOverride)
		}
		e.Before, e.Grants = JSONText(old.Document), old.live(note.When)
		return nil, e, nil
	})
	if !errors.Is(err, ErrUnreadable) {
		return err
	}
	at, err := overrideAt(rule, key)
	if err != nil {
		return err
	}
	return t.transact(ctx, e, t.remove(at, present))
}

// Grant raises a capacity of a key for a time, in addition to its other grants,
// and removes grants that have ended. Every call adds a grant: after a failure
// with an unknown outcome, read the override before granting again.
func (t *Table) Grant(ctx context.Context, rule, key string, g Grant) error {
	if g.Add < 1 || !g.When.Before(g.Until) {
		return fmt.Errorf("grant to key %q of rule %s: write at least 1 unit, and an end after the start: got %+d from %v until %v",
			key, rule, g.Add, g.When, g.Until)
	}
	return t.edit(ctx, rule, key, func(old *Override) (*Override, Event, error) {
		next := *old
		if old.Revision == 0 {
			next.Note = g.Note
		}
		next.Grants = append(slices.Clip(next.Grants), g)
		return &next, Event{Note: g.Note, Kind: Granted, Rule: rule, Key: key, Grant: &g}, nil
	})
}

// Overrides yields the overrides of a rule whose keys begin with prefix, "" for
// all, in the order of the keys' bytes. It reads page by page, so the first few
// are cheap. After ErrUnreadable for one item the next follows; any other error
// is the last.
func (t *Table) Overrides(ctx context.Context, rule, prefix string) iter.Seq2[*Override, error] {
	if len(prefix) > maxSort || !utf8.ValidString(prefix) {
		return func(yield func(*Override, error) bool) {
			yield(nil, fmt.Errorf("overrides of rule %s: no key begins with %.100q: keys are UTF-8 of at most %d bytes", rule, prefix,
				maxSort))
		}
	}
	decode := func(found item) (*Override, error) { return t.overrideOf(rule, found) }
	return query(ctx, t, within(overridePartition+rule, prefix), decode)
}

// edit replaces an override by the result of alter, or removes it if that is nil.
// An old override that does not exist has the revision 0. edit starts again if
// the revision shows that another change came first.
func (t *Table) edit(ctx context.Context, rule, key string, alter func(old *Override) (*Override, Event, error)) error {
	for attempt := 1; ; attempt++ {
		old, err := t.Override(ctx, rule, key)
		if err != nil {
			return err
		}
		if old == nil {
			old = &Override{Rule: rule, Key: key}
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

// replace writes or removes an override if the table still holds the old one.
func (t *Table) replace(ctx context.Context, old, next *Override, e Event) error {
	same := unchanged(attrRevision, old.Revision)
	if next == nil {
		return t.transact(ctx, e, t.remove(key(overridePartition+old.Rule, old.Key), same))
	}
	i, err := next.item(e.When)
	if err != nil {
		return err
	}
	return t.transact(ctx, e, t.put(i, same))
}

// DefaultMaxOverrides bounds the keys of a limiter's OverrideCache. A key without an
// override takes about 200 bytes, or 700 if it has the maximum length; an
// override with a capacity takes 400 more.
const DefaultMaxOverrides = 50_000

// readTimeout bounds one read of an override, in real time.
const readTimeout = 2 * time.Second

// maxUnknown bounds the reads under way of overrides that a limiter does not know.
// It is half of the lookups that a client of DynamoDB has under way.
const maxUnknown = 32

// OverrideCache serves overrides one by one, as requests ask for them, as
// cache.Reloaded does. It also remembers that a key has no override. A key costs
// one GetItem (eventually consistent, half a read unit) in ten seconds,
// regardless of the number of requests and of overrides in the table. A change
// applies within ten seconds.
//
// If a read fails, the last known override stays in force, however old, the
// failure is reported, and a request reads again after a second. The first read
// of a key fails the requests that wait for it. An item that is not valid stays an
// error for ten seconds.
//
// The cache is bounded, so a flood of made-up keys cannot fill the memory. Each
// made-up key costs a read. A known key that was evicted costs one more read.
type OverrideCache struct {
	table *Table
	cache *cache.Reloaded[overrideID, *rules.Override]
}

type overrideID struct{ rule, key string }

func (id overrideID) String() string {
	return fmt.Sprintf("override of rule %s for key %q", id.rule, id.key)
}

// NewOverrideCache returns a cache of the table's overrides for at most
// maxEntries keys. report receives every failed read whose requests got the last
// known override. During an outage that is one for each key in ten seconds, and
// ten more a second at most.
func NewOverrideCache(table *Table, maxEntries int, report func(error)) *OverrideCache {
	c := &OverrideCache{table: table}
	c.cache = cache.NewReloaded(cache.Options[overrideID, *rules.Override]{
		Load: c.load, FirstTimeout: readTimeout, Timeout: readTimeout,
		Report: func(_ overrideID, _ *rules.Override, err error) {
			report(fmt.Errorf("refreshing an override, keeping the last known one: %w", err))
		},
		Answer:     func(err error) bool { return errors.Is(err, ErrUnreadable) },
		MaxEntries: maxEntries, MaxFirst: maxUnknown,
	})
	return c
}

// Override returns the override of a key of a rule, or of rules.PlanOverrides;
// nil if there is none. The result is shared and read-only. A key that was read
// within ten seconds costs no allocation.
func (c *OverrideCache) Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	return c.cache.Get(ctx, now, overrideID{rule, key})
}

// load reads an override from the table. An invalid one is ErrUnreadable.
func (c *OverrideCache) load(ctx context.Context, _ time.Time, id overrideID, _ *rules.Override) (*rules.Override, error) {
	stored, err := c.table.override(ctx, id.rule, id.key, false)
	if err != nil || stored == nil {
		return nil, err
	}
	override, err := stored.Compile(fmt.Sprintf("dynamodb://%s %s", c.table.name, id))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return override, nil
}
