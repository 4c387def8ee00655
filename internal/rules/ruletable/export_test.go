package ruletable

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// Len returns the number of keys in memory.
func (c *OverrideCache) Len() int { return c.cache.Len() }

// Refreshed is Rules, but waits for a refresh that is under way.
func (s *Source) Refreshed(ctx context.Context, now time.Time) (*rules.Set, error) {
	r, err := s.cache.Renew(ctx, now, tableName(s.table.name), func(inForce) bool { return true })
	return r.set, err
}
