package replay

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// Overrides are the overrides set by command, at the time of the log. Like those
// of the document they apply until they end, whenever they were set. A grant
// applies from when it was given until it ends.
type Overrides struct {
	Source engine.OverrideSource
	// At is the time at which Source is asked, instead of the log's clock. Otherwise
	// a cache of ten seconds would read each key again for every ten seconds of the
	// log.
	At time.Time
}

// Override returns the override of a key, without the grants that were given after now.
func (o Overrides) Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	found, err := o.Source.Override(ctx, o.At, rule, key)
	later := func(g rules.Grant) bool { return now.Before(g.From) }
	if err != nil || found == nil || !slices.ContainsFunc(found.Grants, later) {
		return found, err
	}
	then := *found // which others read too
	then.Grants = slices.DeleteFunc(slices.Clone(found.Grants), later)
	return &then, nil
}

// Clock is the real time that a replay takes, as against the log's.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's error when that ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the machine's own.
type RealClock struct{}

// Now returns the time.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep waits.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pacer delays requests until their moment after the first one. A request out of
// order is late already and goes on at once.
type pacer struct {
	speed   float64 // seconds of the log in a second; 0 for no pacing
	clock   Clock
	running bool
	start   time.Time // when the first request was sent
	first   time.Time // and its moment in the log
}

func (p *pacer) wait(ctx context.Context, at time.Time) error {
	if p.speed == 0 {
		return nil
	}
	if !p.running {
		p.running, p.start, p.first = true, p.clock.Now(), at
	}
	offset := min(float64(at.Sub(p.first))/p.speed, math.MaxInt64/2) // a speed may be as small as it likes
	if offset <= 0 {
		return nil
	}
	if d := time.Duration(offset) - p.clock.Now().Sub(p.start); d > 0 {
		return p.clock.Sleep(ctx, d)
	}
	return nil
}
