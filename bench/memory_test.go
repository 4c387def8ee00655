// Package bench compares Slidegate with baselines in one run: a bare map, a
// bare DynamoDB update, decoding an event, and other limiters. `make bench`
// runs it and prints the table of docs/performance.md.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/time/rate"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

const zipfKeys = 100_000

var (
	epoch = time.Unix(1_700_000_040, 0)
	one   = []int64{1}
)

type workload struct {
	name     string
	keys     []string // in the order of the requests
	capacity int64    // a minute
}

// workloads are one key that always has room, one that never has, and a few
// busy keys among many quiet ones.
func workloads() []workload {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, zipfKeys-1)
	zipf := make([]string, 1<<16)
	for i := range zipf {
		zipf[i] = fmt.Sprintf("per-user|user:%d|1a2b3c4d", z.Uint64())
	}
	return []workload{{"allowed", zipf[:1], limit.MaxCapacity}, {"denied", zipf[:1], 100}, {"zipf", zipf, 100}}
}

// BenchmarkMemory decides at moments a microsecond apart.
func BenchmarkMemory(b *testing.B) {
	for _, w := range workloads() {
		b.Run(w.name+"/slidegate", func(b *testing.B) { benchStore(b, w) })
		b.Run(w.name+"/bare", func(b *testing.B) { benchMap(b, w.keys) })
		b.Run(w.name+"/x-time-rate", func(b *testing.B) { benchRate(b, w) })
		b.Run(w.name+"/go-limiter", func(b *testing.B) { benchGoLimiter(b, w) })
	}
}

// each first calls take once for every key. It then measures calls with the
// keys in turn, where each goroutine starts at another key.
func each(b *testing.B, keys []string, take func(key string, n int)) {
	for n, key := range keys {
		take(key, n)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		start := rand.IntN(len(keys))
		for n := 0; pb.Next(); n++ {
			take(keys[(start+n)%len(keys)], n)
		}
	})
}

func benchStore(b *testing.B, w workload) {
	store, ctx, keys := memory.New(2*zipfKeys), context.Background(), w.keys
	limits := []limit.Limit{{Capacity: w.capacity, Window: time.Minute, Granularity: time.Second}}
	for _, key := range keys {
		if err := store.Charge(ctx, epoch, &limit.Charge{Key: key, Limits: limits, Costs: one}, &limit.Verdict{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var v limit.Verdict
		c := limit.Charge{Limits: limits, Costs: one}
		now, start := epoch, rand.IntN(len(keys))
		for n := 0; pb.Next(); n++ {
			c.Key = keys[(start+n)%len(keys)]
			now = now.Add(time.Microsecond)
			if err := store.Charge(ctx, now, &c, &v); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// benchMap counts in a map behind a mutex, which limits nothing.
func benchMap(b *testing.B, keys []string) {
	var mu sync.Mutex
	counts := map[string]int{}
	each(b, keys, func(key string, _ int) {
		mu.Lock()
		counts[key]++
		mu.Unlock()
	})
}

// benchRate keeps a token bucket of golang.org/x/time/rate for each key.
func benchRate(b *testing.B, w workload) {
	var limiters sync.Map
	each(b, w.keys, func(key string, n int) {
		limiter, ok := limiters.Load(key)
		if !ok {
			limiter, _ = limiters.LoadOrStore(key, rate.NewLimiter(rate.Limit(w.capacity)/60, int(w.capacity)))
		}
		limiter.(*rate.Limiter).AllowN(epoch.Add(time.Duration(n)*time.Microsecond), 1)
	})
}

// benchGoLimiter uses the fixed windows of sethvargo/go-limiter, which reads
// the clock itself.
func benchGoLimiter(b *testing.B, w workload) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(w.capacity), Interval: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	defer store.Close(ctx)
	each(b, w.keys, func(key string, _ int) { _, _, _, _, _ = store.Take(ctx, key) })
}
