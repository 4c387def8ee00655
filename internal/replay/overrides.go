package replay

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// Overrides are the overrides set by command, at the time of the log. Like
// those of the document they apply until they end, whenever they were set. A
// grant applies from when it was given until it ends.
type Overrides struct {
	Source engine.OverrideSource
	// At is the time at which Source is asked, instead of the log's clock.
	// Otherwise a cache of ten seconds would read each key again for every ten
	// seconds of the log.
	At time.Time
}

// Override returns the override of a key, without the grants that were given
// after now.
func (o Overrides) Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	found, err := o.Source.Override(ctx, o.At, rule, key)
	later := func(g rules.Grant) bool { return now.Before(g.From) }
	if err != nil || found == nil || !slices.ContainsFunc(found.Grants, later) {
		return found, err
	}
	then := *found // others read it too
	then.Grants = slices.DeleteFunc(slices.Clone(found.Grants), later)
	return &then, nil
}
