package ruletable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/rules"
)

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
