package ruletable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/sparing"
)

// DefaultMaxOverrides bounds the keys that an OverrideCache keeps unless told otherwise. A key without an override takes
// about 200 bytes, 700 if it is as long as keys get; a capacity of its own takes 400 more.
const DefaultMaxOverrides = 50_000

// lookTimeout bounds one look at an override, in real time.
const lookTimeout = 2 * time.Second

// OverrideCache serves overrides one by one, as requests ask for them. It keeps what it has seen, also that there is none:
// a key costs one GetItem (eventually consistent, half a read unit) in ten seconds however many requests ask for it, and
// nothing depends on how many overrides the table holds. A change shows within ten seconds.
//
// As in Source, a request that finds an override ten seconds old starts a look, waits for it a moment, and goes on with what
// there is; the others go on at once. Where the look fails, what was seen last is served, however old, and the failure is
// reported. A key that has not been seen yet waits for its look, and fails with it: a failed look is not kept, so the next
// request tries again, but an item that is not valid is an error for ten seconds.
//
// The cache is bounded, so a flood of made-up keys cannot fill the memory; each of them costs a read, one in flight for a
// key, and again when it comes back after it was dropped. Which keys are dropped is otter's choice, by how often and how
// lately they were used (W-TinyLFU): keys in steady use stay through such a flood, new ones have a harder time to get in. A
// known key that was dropped costs one more read and no more than that.
type OverrideCache struct {
	table   *Table
	entries *otter.Cache[overrideID, *cached]
	flights singleflight.Group

	// The failures that are hidden from requests: of items that cannot be read, and of the table.
	report              func(error)
	unreadable, failing sparing.Line
}

// OverrideCacheOptions set up an OverrideCache.
type OverrideCacheOptions struct {
	// Report is told of looks whose failure is hidden from the request: at once, and then once in ten seconds with how many
	// there were.
	Report func(error)
	// MaxEntries bounds the keys that are kept, 0 for DefaultMaxOverrides.
	MaxEntries int
}

type overrideID struct{ rule, key string }

// cached is what a look has found. It never changes: the next look puts another in its place.
type cached struct {
	override *rules.Override // nil if there is none
	err      error           // of an item that cannot be read, if nothing better was seen before
	checked  time.Time
	looking  atomic.Bool // set by the request that looks again
}

// NewOverrideCache returns a cache of the table's overrides.
func NewOverrideCache(table *Table, o OverrideCacheOptions) *OverrideCache {
	if o.MaxEntries <= 0 {
		o.MaxEntries = DefaultMaxOverrides
	}
	return &OverrideCache{
		table:   table,
		entries: otter.Must(&otter.Options[overrideID, *cached]{MaximumSize: o.MaxEntries}),
		report:  o.Report,
	}
}

// Override returns what was said of a key of a rule, or of rules.PlanOverrides; nil if nothing was. What it returns is
// shared and read-only. It allocates nothing for a key that was seen within ten seconds.
func (c *OverrideCache) Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	id := overrideID{rule, key}
	seen, ok := c.entries.GetIfPresent(id)
	switch {
	case ok && fresh(seen.checked, now):
		return seen.override, seen.err
	case !ok || seen.err != nil:
		return c.wait(ctx, now, id)
	case seen.looking.CompareAndSwap(false, true):
		return c.lookAgain(ctx, now, id, seen), nil
	}
	return seen.override, nil
}

// wait looks for an override of which nothing is known, together with all others who do. Whoever gives up leaves the look
// to them.
func (c *OverrideCache) wait(ctx context.Context, now time.Time, id overrideID) (*rules.Override, error) {
	flight := c.flights.DoChan(id.rule+"\x00"+id.key, func() (any, error) {
		if seen, ok := c.entries.GetIfPresent(id); ok && fresh(seen.checked, now) {
			return seen, nil // an earlier flight has landed since
		}
		return c.look(ctx, now, id, nil)
	})
	select {
	case landed := <-flight:
		if landed.Err != nil {
			return nil, landed.Err
		}
		found := landed.Val.(*cached)
		return found.override, found.err
	case <-ctx.Done():
		return nil, fmt.Errorf("override of rule %s for key %q: %w", id.rule, id.key, context.Cause(ctx))
	}
}

// lookAgain starts a look and waits for it a moment: see Source.
func (c *OverrideCache) lookAgain(ctx context.Context, now time.Time, id overrideID, last *cached) *rules.Override {
	done := make(chan *cached, 1)
	go func() {
		found, _ := c.look(ctx, now, id, last) // never fails: there is a last one
		done <- found
	}()
	select {
	case found := <-done:
		return found.override
	case <-time.After(refreshWait):
	case <-ctx.Done():
	}
	return last.override
}

// look reads an override and keeps what it finds; last is what was seen before, nil for nothing. The request that starts a
// look does not end it: others wait for it.
func (c *OverrideCache) look(ctx context.Context, now time.Time, id overrideID, last *cached) (*cached, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	override, err := c.read(ctx, id)
	switch {
	case err != nil && last != nil:
		c.hide(now, err)
		override, err = last.override, nil
	case err != nil && !errors.Is(err, ErrUnreadable):
		return nil, err
	}
	found := &cached{override: override, err: err, checked: now}
	c.entries.Set(id, found)
	return found, nil
}

// hide reports a failure that the request is not told of.
func (c *OverrideCache) hide(now time.Time, err error) {
	kind := &c.failing
	if errors.Is(err, ErrUnreadable) {
		kind = &c.unreadable
	}
	held, ok := kind.Due(now)
	if !ok {
		return
	}
	err = fmt.Errorf("refreshing an override, keeping what was seen last: %w", err)
	if held > 0 {
		err = fmt.Errorf("%w (and %d more like it since the last report)", err, held)
	}
	c.report(err)
}

// read reads an override from the table; what it says cannot be read is ErrUnreadable.
func (c *OverrideCache) read(ctx context.Context, id overrideID) (*rules.Override, error) {
	stored, err := c.table.override(ctx, id.rule, id.key, false)
	if err != nil || stored == nil {
		return nil, err
	}
	place := fmt.Sprintf("dynamodb://%s override of rule %s for key %q", c.table.name, id.rule, id.key)
	override, err := stored.Parse(place)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return override, nil
}
