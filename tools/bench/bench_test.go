package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// bare is the operation that limits nothing. Tables have the time of the
	// others ÷ its time.
	bare = "bare"
	ours = "Slidegate"

	unlimited = 4_000_000_000 // a quota that no benchmark reaches
	slots     = 60            // of a window of Slidegate's
)

// subject is a column of a table.
type subject struct {
	name string
	// open returns the limiter with a quota for each key and minute, and without
	// counters.
	open func(b *testing.B, quota int64) *opened
}

// opened is a limiter in use.
type opened struct {
	decide decide
	// fill charges units in each slot of the window that ends now: the state of a
	// steady load. It is nil for limiters whose state does not grow.
	fill  func(ctx context.Context, key string, units int64) error
	calls *atomic.Int64 // round trips to its server; nil in memory
	store limit.Store   // of a limiter whose holds are measured
}

type decide func(ctx context.Context, key string) (allowed bool, err error)

// load is a row of a table.
type load struct {
	name    string
	clients int // goroutines, each with one request at a time
	keys    int // drawn by a Zipf distribution; 0 for one key
	quota   int64
	apart   bool // each client has a limiter of its own, as an instance of a Lambda does
	flood   bool // each key gets 60 times its quota
}

// serial numbers keys, so that no two runs share a counter.
var serial atomic.Int64

// run measures limiters: their allocations, or on a server the round trips of a
// decision and the failures.
func (l load) run(b *testing.B, limiters []subject) {
	for _, lim := range limiters {
		b.Run("load="+l.name+"/limiter="+lim.name, func(b *testing.B) {
			members := []*opened{lim.open(b, l.quota)}
			for l.apart && len(members) < l.clients {
				members = append(members, lim.open(b, l.quota))
			}
			first, prefix := members[0], fmt.Sprintf("user:%d:", serial.Add(1))
			keys := draw(prefix, l.keys)
			if first.fill != nil && !l.flood {
				check(b, first.fill(b.Context(), keys[0], l.quota/2/slots))
			}
			for i := 0; i < len(keys) && l.keys > 0; i++ { // so that the keys are known
				_, err := first.decide(b.Context(), keys[i])
				check(b, err)
			}
			before := calls(members)
			var sent, failed, started atomic.Int64
			decide := func(m *opened, n int) {
				key := keys[n%len(keys)]
				if l.flood {
					key = prefix + strconv.FormatInt(sent.Add(1)/(60*l.quota), 10)
				}
				// Limiters would watch a context that can end.
				if _, err := m.decide(context.Background(), key); err != nil && failed.Add(1) == int64(b.N) {
					b.Errorf("all %d decisions failed: %v", b.N, err)
				}
			}
			b.SetParallelism(max(1, l.clients/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			if l.clients == 1 {
				for n := range b.N {
					decide(first, n)
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					client := int(started.Add(1) - 1)
					for n := client * len(keys) / l.clients; pb.Next(); n++ {
						decide(members[client%len(members)], n)
					}
				})
			}
			b.StopTimer()
			if first.calls == nil {
				b.ReportAllocs()
			} else {
				b.ReportMetric(float64(calls(members)-before)/float64(b.N), "calls/op")
				b.ReportMetric(float64(failed.Load())/float64(b.N), "failures/op")
			}
		})
	}
}

func calls(members []*opened) (n int64) {
	for _, m := range members {
		if m.calls != nil {
			n += m.calls.Load()
		}
	}
	return n
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// draw returns the keys of requests in their order, the same in every run: one
// key, or draws from a Zipf distribution over n.
func draw(prefix string, n int) []string {
	if n == 0 {
		return []string{prefix + "0"}
	}
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(n-1))
	draws := make([]string, 1<<17)
	for i := range draws {
		draws[i] = prefix + strconv.FormatUint(z.Uint64(), 10)
	}
	return draws
}

// onServer runs the loads of a store.
func onServer(b *testing.B, windows, buckets []subject) {
	load{name: "1-client", clients: 1, quota: unlimited}.run(b, windows)
	for _, apart := range []bool{false, true} {
		name := map[bool]string{false: "16-clients", true: "16-processes"}[apart]
		load{name: name, clients: 16, quota: unlimited, apart: apart}.run(b, windows)
		load{name: "bucket-" + name, clients: 16, quota: unlimited, apart: apart}.run(b, buckets)
	}
	load{name: "60-times-the-limit", clients: 16, quota: 30, flood: true}.run(b, windows)
}

// bySlidegate returns Slidegate as programs use it. With a store, a failure of the
// store is one of the decision.
func bySlidegate(b *testing.B, quota int64, by func(int64, time.Duration) slidegate.Limit, options ...slidegate.Option) *opened {
	lim, err := slidegate.New(append(options, by(quota, window), slidegate.WithName("bench"), slidegate.FailError())...)
	check(b, err)
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		r, err := lim.Allow(ctx, key)
		return r.Allowed, err
	}}
}

// onStore returns Slidegate on a store. A second limiter, whose store takes the
// caller's time, fills it.
func onStore(b *testing.B, quota int64, by func(int64, time.Duration) slidegate.Limit, store, past slidegate.Store) *opened {
	o := bySlidegate(b, quota, by, slidegate.WithStore(store))
	lim, err := slidegate.New(by(quota, window), slidegate.WithName("bench"), slidegate.WithStore(past))
	check(b, err)
	o.fill = func(ctx context.Context, key string, units int64) error {
		for end, i := time.Now(), slots-1; i >= 0; i-- {
			if _, err := lim.AllowAt(ctx, end.Add(-window*time.Duration(i)/slots), key, units); err != nil {
				return err
			}
		}
		return nil
	}
	return o
}

func tokenBucket(n int64, window time.Duration) slidegate.Limit {
	return slidegate.TokenBucket(n, window, n)
}

// fixed limits by windows that start at multiples of their length. It adds to
// the number of the window, and remembers for which window a key is full.
func fixed(quota int64, add func(ctx context.Context, key string) (int64, error)) decide {
	var full sync.Map
	return func(ctx context.Context, key string) (bool, error) {
		now := time.Now().UnixNano() / int64(window)
		if last, ok := full.Load(key); ok && last == now {
			return false, nil
		}
		n, err := add(ctx, inWindow(key, now))
		if err == nil && n > quota {
			full.Store(key, now)
		}
		return err == nil && n <= quota, err
	}
}

// twoCounts limits by the numbers of two windows, the older one weighted by how
// much of it a window that ends now still covers.
func twoCounts(quota int64, both func(ctx context.Context, newer, older string) (n, before int64, err error)) decide {
	return func(ctx context.Context, key string) (bool, error) {
		now := time.Now().UnixNano()
		number := now / int64(window)
		n, before, err := both(ctx, inWindow(key, number), inWindow(key, number-1))
		covered := 1 - float64(now%int64(window))/float64(window)
		return err == nil && float64(before)*covered+float64(n) <= float64(quota), err
	}
}

func inWindow(key string, number int64) string { return key + ":" + strconv.FormatInt(number, 10) }
