package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// quota is what a subject has to enforce for each key.
type quota struct {
	capacity int64
	window   time.Duration
}

// subject is a limiter to measure, or the bare operation that limits nothing.
type subject struct {
	name string
	// open returns a limiter without counters.
	open func(ctx context.Context, q quota) (*limiter, error)
}

// limiter is a subject with a quota.
type limiter struct {
	decide func(ctx context.Context, key string) (allowed bool, err error)
	// fill charges units of a key in each slot of the window that ends now, so
	// that the limiter has as much state as under a steady load. It is nil for
	// limiters whose state does not grow.
	fill func(ctx context.Context, key string, units int64) error
	// calls counts the round trips to its server, and those that write; nil for
	// one in memory.
	calls func() (calls, writes int64)
	close func()
}

// tally counts round trips while others read it.
type tally struct{ calls, writes atomic.Int64 }

func (t *tally) read() (calls, writes int64) { return t.calls.Load(), t.writes.Load() }

// test is one load on several subjects, the first of which is the bare
// operation.
type test struct {
	id       string
	subjects []subject
	clients  int // goroutines, each with one request at a time
	keys     int // by a Zipf distribution; 1 for one key
	// capacity is the limit of each key, for a load that is only counted.
	capacity int64
	// load is the offered load ÷ the limit. Below 1, a trial of each subject
	// finds the capacity: every subject gets this share of its own limit. Above
	// 1, each key gets so many times its capacity as fast as it is answered. With
	// 0, capacity is the limit.
	load   float64
	length time.Duration // of a subject's turn in a round
	rounds int
	sample int // every n-th decision is timed by itself, for p99
}

const (
	unlimited     = 4_000_000_000 // a capacity that no turn reaches
	floodCapacity = 30
	floodKeys     = 2 // of a turn
	window        = time.Minute
	slots         = 60 // of the window
)

// turn is what one subject did in one round.
type turn struct {
	wall, cpu          time.Duration
	decisions, failed  int64
	mallocs            uint64
	roundTrips, writes int64
	latencies          []int64 // of the timed decisions, in nanoseconds
	err                error   // the last one
}

// driver sends the requests of a test to one limiter.
type driver struct {
	*test
	*limiter
	keys []string
}

// measure has the subjects of a test decide in turns, in a new order each round,
// so that other work on the machine slows all of them. A subject that fails has
// no result, and the error names it.
func (t *test) measure(ctx context.Context) (map[string]result, error) {
	drivers, turns := make([]*driver, len(t.subjects)), make([][]turn, len(t.subjects))
	errs := make([]error, len(t.subjects))
	for i, s := range t.subjects {
		if drivers[i], errs[i] = t.open(ctx, s); errs[i] == nil {
			defer drivers[i].shut()
		}
	}
	for range t.rounds {
		for _, i := range rand.Perm(len(drivers)) {
			if errs[i] == nil {
				var one turn
				one, errs[i] = drivers[i].take(ctx, t.length)
				turns[i] = append(turns[i], one)
			}
		}
	}
	results := map[string]result{}
	for i, s := range t.subjects {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("%s, %s: %w", t.id, s.name, errs[i])
		} else if errs[0] == nil {
			results[s.name] = summarise(turns[i], turns[0])
		}
	}
	return results, errors.Join(errs...)
}

// open returns a limiter with the capacity for which the subject's own pace is
// the load of the test.
func (t *test) open(ctx context.Context, s subject) (*driver, error) {
	switch {
	case t.load > 1:
		return t.limited(ctx, s, floodCapacity)
	case t.load == 0:
		return t.limited(ctx, s, t.capacity)
	}
	trial, err := t.limited(ctx, s, unlimited)
	if err != nil {
		return nil, err
	}
	defer trial.shut()
	pace, err := trial.take(ctx, t.length)
	if err != nil {
		return nil, err
	}
	return t.limited(ctx, s, max(int64(float64(pace.decisions)/t.load*float64(window)/float64(pace.wall)), 1))
}

func (l *limiter) shut() {
	if l.close != nil {
		l.close()
	}
}

// serial numbers keys, so that no two limiters share a counter.
var serial atomic.Int64

// limited opens a limiter, and gives it the state of a window under load.
func (t *test) limited(ctx context.Context, s subject, capacity int64) (*driver, error) {
	l, err := s.open(ctx, quota{capacity, window})
	if err != nil {
		return nil, err
	}
	d := &driver{t, l, keys(fmt.Sprintf("user:%d:", serial.Add(1)), t.keys)}
	if l.fill != nil && t.load > 0 && t.load < 1 {
		err = l.fill(ctx, d.keys[0], max(int64(float64(capacity)*t.load/slots), 1))
	}
	for i := 0; err == nil && i < len(d.keys) && len(d.keys) > 1; i++ {
		_, err = l.decide(ctx, d.keys[i])
	}
	return d, err
}

// take has the limiter decide, for a while or until the keys of a flood have had
// their requests, and measures it.
func (d *driver) take(ctx context.Context, length time.Duration) (turn, error) {
	runtime.GC() // garbage of earlier turns is not this subject's
	before := d.usage()
	begun := time.Now()
	var sum turn
	if d.load > 1 {
		for range floodKeys {
			var sent atomic.Int64
			sum.add(d.send(keys(fmt.Sprintf("user:%d:", serial.Add(1)), 1), func() bool { return float64(sent.Add(int64(d.sample))) <= d.load*floodCapacity }))
		}
	} else {
		var over atomic.Bool
		defer time.AfterFunc(length, func() { over.Store(true) }).Stop()
		sum = d.send(d.keys, func() bool { return !over.Load() })
	}
	sum.wall = time.Since(begun)
	after := d.usage()
	sum.cpu, sum.mallocs = after.cpu-before.cpu, after.mallocs-before.mallocs
	sum.roundTrips, sum.writes = after.roundTrips-before.roundTrips, after.writes-before.writes
	if sum.failed == sum.decisions { // a subject may fail sometimes
		return sum, errors.Join(sum.err, fmt.Errorf("%d of %d decisions failed", sum.failed, sum.decisions), ctx.Err())
	}
	return sum, ctx.Err()
}

// send has all clients send requests while there are more. Each sends a sample
// at a time, and times its first request.
func (d *driver) send(keys []string, more func() bool) (sum turn) {
	parts := make([]turn, d.clients)
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() {
			t, n := &parts[i], i*len(keys)/len(parts)
			for more() {
				sent := time.Now()
				for s := range d.sample {
					// Limiters would watch a context that can end.
					_, err := d.decide(context.Background(), keys[n%len(keys)])
					if s == 0 {
						t.latencies = append(t.latencies, int64(time.Since(sent)))
					}
					n++
					t.decisions++
					if err != nil {
						t.failed, t.err = t.failed+1, err
					}
				}
			}
		})
	}
	all.Wait()
	for _, part := range parts {
		sum.add(part)
	}
	return sum
}

func (t *turn) add(o turn) {
	t.decisions, t.failed = t.decisions+o.decisions, t.failed+o.failed
	t.latencies, t.err = append(t.latencies, o.latencies...), errors.Join(t.err, o.err)
}

// usage returns what has been used so far.
func (d *driver) usage() (u turn) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.mallocs = memory.Mallocs
	if d.calls != nil {
		u.roundTrips, u.writes = d.calls()
	}
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		u.cpu = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return u
}

// keys returns the keys of requests in their order, the same in every run: one
// key, or draws from a Zipf distribution over n.
func keys(prefix string, n int) []string {
	draws := []string{prefix + "0"}
	if n > 1 {
		z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(n-1))
		names := map[uint64]string{}
		draws = make([]string, 1<<17)
		for i := range draws {
			k := z.Uint64()
			if names[k] == "" {
				names[k] = fmt.Sprint(prefix, k)
			}
			draws[i] = names[k]
		}
	}
	return draws
}
