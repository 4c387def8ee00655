package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// keepFor is how long the numbers of a counter are answered from memory.
	keepFor = time.Second
	// maxReads bounds the counters in memory, about 3 MB.
	maxReads = 10_000
)

var errBusy = errors.New("too many callers ask for their usage at once")

// counters reads counters, each at most once in keepFor.
type counters struct {
	store Store
	mu    sync.Mutex
	reads map[string]*read
	swept time.Time // when old reads were last dropped
}

// read is one read of a counter, which the first call of limits makes.
type read struct {
	at     time.Time
	limits func() ([]Limit, error)
}

// isOld allows for callers side by side, whose times differ slightly.
func isOld(at, now time.Time) bool { return now.Sub(at).Abs() >= keepFor }

// limits returns the limits of a charge with their numbers, which are up to
// keepFor old.
func (c *counters) limits(ctx context.Context, now time.Time, charge *limit.Charge) ([]Limit, error) {
	key := charge.Key
	for i := range charge.Limits { // a plan may change them without a new counter
		key += fmt.Sprint("|", charge.Limits[i].Capacity, "|", charge.Limits[i].Burst)
	}
	c.mu.Lock()
	if isOld(c.swept, now) {
		maps.DeleteFunc(c.reads, func(_ string, r *read) bool { return isOld(r.at, now) })
		c.swept = now
	}
	r := c.reads[key]
	if full := len(c.reads) >= maxReads; r == nil && full {
		c.mu.Unlock()
		return nil, errBusy
	}
	if r == nil || isOld(r.at, now) {
		r = &read{now, sync.OnceValues(func() ([]Limit, error) { return c.read(ctx, now, charge) })}
		c.reads[key] = r
	}
	c.mu.Unlock()
	return r.limits()
}

// read reads a counter. A caller who hangs up does not fail the others; the
// deadline still bounds the read.
func (c *counters) read(ctx context.Context, now time.Time, charge *limit.Charge) (all []Limit, err error) {
	deadline, _ := ctx.Deadline() // Reporter sets one
	ctx, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), deadline, limit.ErrDeadline)
	defer cancel()
	var v limit.Verdict
	if err := c.store.Peek(ctx, now, charge, &v); err != nil {
		return nil, err
	}
	for i := range v.Limits {
		l := &charge.Limits[i]
		numbers := NumbersOf(l, &v.Limits[i])
		all = append(all, limitOf(l, &numbers))
	}
	return all, nil
}
