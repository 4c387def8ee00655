package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// turn is what one subject did in one round.
type turn struct {
	wall, cpu, server, scripts time.Duration
	decisions, allowed, failed int64
	mallocs                    uint64
	latencies                  []int64 // of the sampled decisions, in nanoseconds
	calls                      Calls
	remote                     bool
}

func (t *turn) time() float64    { return float64(t.wall) / float64(t.decisions) }
func (t *turn) cpuTime() float64 { return float64(t.cpu) / float64(t.decisions) }
func (t *turn) p99() float64 {
	return float64(Percentile(slices.Sorted(slices.Values(t.latencies)), 99))
}

func (t *turn) add(o *turn) {
	t.decisions, t.allowed, t.failed = t.decisions+o.decisions, t.allowed+o.allowed, t.failed+o.failed
	t.latencies = append(t.latencies, o.latencies...)
	t.calls = Calls{t.calls.Calls + o.calls.Calls, t.calls.Reads + o.calls.Reads, t.calls.Writes + o.calls.Writes}
	t.server, t.scripts, t.remote = t.server+o.server, t.scripts+o.scripts, t.remote || o.remote
}

// driver sends the requests of a case to one limiter.
type driver struct {
	limiter *Limiter
	keys    []string
	*Case
	clients int
	next    int // where the keys of the next turn start
}

// take has the limiter decide for a while, and measures it.
func (d *driver) take(ctx context.Context, length time.Duration) (turn, error) {
	runtime.GC() // garbage of earlier turns is not this subject's
	before := d.usage()
	begun := time.Now()
	t, err := d.run(ctx, begun, length)
	t.wall = time.Since(begun)
	after := d.usage()
	t.cpu, t.server, t.mallocs = after.cpu-before.cpu, after.server-before.server, after.mallocs-before.mallocs
	t.scripts = after.scripts - before.scripts
	t.calls, t.remote = after.calls.minus(before.calls), d.limiter.Calls != nil
	if err == nil && t.decisions == 0 {
		err = fmt.Errorf("no decision in %v", length)
	}
	return t, err
}

// run has all clients send requests until the time is over. A subject may fail
// sometimes, which its result says. If it always fails, that is an error.
func (d *driver) run(ctx context.Context, begun time.Time, length time.Duration) (turn, error) {
	if length <= 0 {
		return turn{}, nil
	}
	var over atomic.Bool
	defer time.AfterFunc(length, func() { over.Store(true) }).Stop()
	parts, errs := make([]turn, d.clients), make([]error, d.clients)
	var all sync.WaitGroup
	progress := d.newFlood()
	for i := range d.clients {
		all.Go(func() {
			ctx := context.WithoutCancel(ctx) // limiters would watch it in every decision
			c := client{driver: d, over: &over, n: d.next + i*len(d.keys)/d.clients}
			switch {
			case d.Flood > 0:
				c.flood(ctx, progress)
			case d.Rate > 0:
				c.paced(ctx, begun, i)
			default:
				c.closed(ctx)
			}
			parts[i], errs[i] = c.turn, c.err
		})
	}
	all.Wait()
	var sum turn
	for i := range parts {
		sum.add(&parts[i])
	}
	d.next += int(sum.decisions) / d.clients
	for _, err := range errs {
		if err != nil && sum.failed == sum.decisions {
			return sum, err
		}
	}
	return sum, ctx.Err()
}

// client is one goroutine that sends requests.
type client struct {
	*driver
	turn
	over *atomic.Bool
	n    int
	err  error // the last one
}

// closed sends each request after the answer to the one before, at least one. It
// times the first of each sample.
func (c *client) closed(ctx context.Context) {
	for {
		sent := time.Now()
		c.decide(ctx)
		c.latencies = append(c.latencies, int64(time.Since(sent)))
		for range c.Sample - 1 {
			c.decide(ctx)
		}
		if c.over.Load() {
			return
		}
	}
}

// paced sends requests by the clock, whether or not the last one was late. Their
// time counts from when they were due, so that a stall counts for all requests
// that it delays.
func (c *client) paced(ctx context.Context, begun time.Time, number int) {
	due := begun.Add(time.Duration(float64(number) / c.Rate * float64(time.Second)))
	step := time.Duration(float64(c.clients) / c.Rate * float64(time.Second))
	for ; !c.over.Load(); due = due.Add(step) {
		time.Sleep(time.Until(due))
		c.decide(ctx)
		c.latencies = append(c.latencies, int64(time.Since(due)))
	}
}

func (c *client) decide(ctx context.Context) {
	allowed, err := c.limiter.Decide(ctx, c.keys[c.n%len(c.keys)])
	c.n++
	c.decisions++
	switch {
	case err != nil:
		c.failed, c.err = c.failed+1, err
	case allowed:
		c.allowed++
	}
}

// usage is what has been used so far.
type usage struct {
	cpu, server, scripts time.Duration
	mallocs              uint64
	calls                Calls
}

func (d *driver) usage() (u usage) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.mallocs, u.cpu = memory.Mallocs, cpuTime()
	if d.Server != nil {
		u.server = d.Server()
	}
	if d.Scripts != nil {
		u.scripts = d.Scripts()
	}
	if d.limiter.Calls != nil {
		u.calls = d.limiter.Calls()
	}
	return u
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
