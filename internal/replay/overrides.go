package replay

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// Overrides are those that operators set by command, as a replay takes them, which goes by the log's clock: like the
// document's they hold until they end, whenever they were set; a grant holds from when it was given until it ends.
type Overrides struct {
	Source engine.OverrideSource
	// At is when Source is asked, whatever the log's clock says: a log of a day must not have a cache of ten seconds look
	// all day long.
	At time.Time
}

// Override returns what was said of a key, without the grants that were given after now.
func (o Overrides) Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	said, err := o.Source.Override(ctx, o.At, rule, key)
	later := func(g rules.Grant) bool { return now.Before(g.From) }
	if err != nil || said == nil || !slices.ContainsFunc(said.Grants, later) {
		return said, err
	}
	then := *said // which others read too
	then.Grants = slices.DeleteFunc(slices.Clone(said.Grants), later)
	return &then, nil
}
