package usage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// keepFor is how long the numbers of a counter are answered from memory.
	keepFor = time.Second
	// maxReads bounds the counters that are read in keepFor, and so the memory of
	// their numbers: about 3 MB.
	maxReads = 10_000
)

// errBusy says that too many callers ask at once.
var errBusy = errors.New("too many callers ask for their usage at once")

// counters reads counters, each at most once in keepFor.
type counters struct {
	store Store
	mu    sync.Mutex
	// recent has the reads since turned, and earlier those before, some of which
	// may still be fresh. Both are dropped whole, so no entry is ever searched for.
	recent, earlier map[string]*read
	turned          time.Time
}

// read is one read of a counter. Its results are set once done is closed.
type read struct {
	at     time.Time
	done   chan struct{}
	limits []Limit
	err    error
}

func newCounters(s Store) *counters {
	return &counters{store: s, recent: map[string]*read{}}
}

// limits returns the limits of a charge with their numbers, which are up to
// keepFor old.
func (c *counters) limits(ctx context.Context, now time.Time, charge *limit.Charge) ([]Limit, error) {
	key := charge.Key
	for i := range charge.Limits { // a plan may change them without a new counter
		key += fmt.Sprint("|", charge.Limits[i].Capacity, "|", charge.Limits[i].Burst)
	}
	entry, first := c.read(now, key)
	if entry == nil {
		return nil, errBusy
	}
	if first {
		c.fill(ctx, now, charge, entry)
	}
	select {
	case <-entry.done:
		return entry.limits, entry.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// read returns the read of a counter that is fresh, or a new one for the caller
// to fill: first says so. It returns nil if there are too many.
func (c *counters) read(now time.Time, key string) (entry *read, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.turned); age >= keepFor || age < 0 {
		c.earlier, c.recent, c.turned = c.recent, map[string]*read{}, now
	}
	for _, generation := range []map[string]*read{c.recent, c.earlier} {
		if entry, ok := generation[key]; ok && now.Sub(entry.at) < keepFor && !now.Before(entry.at) {
			return entry, false
		}
	}
	if len(c.recent) >= maxReads {
		return nil, false
	}
	entry = &read{at: now, done: make(chan struct{})}
	c.recent[key] = entry
	return entry, true
}

// fill reads the counter. A caller who hangs up does not fail the others who
// wait for the same read; the deadline still bounds it.
func (c *counters) fill(ctx context.Context, now time.Time, charge *limit.Charge, entry *read) {
	defer close(entry.done)
	if deadline, ok := ctx.Deadline(); ok {
		bounded, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), deadline, limit.ErrDeadline)
		defer cancel()
		ctx = bounded
	}
	var v limit.Verdict
	if entry.err = c.store.Peek(ctx, now, charge, &v); entry.err != nil {
		return
	}
	for i := range v.Limits {
		l := &charge.Limits[i]
		entry.limits = append(entry.limits, Limit{Name: l.Name, Capacity: l.Capacity, Window: l.Window.Seconds(), Numbers: NumbersOf(l, &v.Limits[i])})
	}
}
