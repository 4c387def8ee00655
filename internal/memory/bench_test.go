package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

const zipfKeys = 100_000

// zipf returns keys of a few busy and many quiet callers.
func zipf() []string {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, zipfKeys-1)
	keys := make([]string, 1<<16)
	for i := range keys {
		keys[i] = fmt.Sprintf("per-user|user:%d|1a2b3c4d", z.Uint64())
	}
	return keys
}

// BenchmarkCharge decides at 100 per minute, a microsecond apart: run it with -cpu 1,2.
func BenchmarkCharge(b *testing.B) {
	for name, keys := range map[string][]string{"hot": {"per-user|user:1|1a2b3c4d"}, "zipf": zipf()} {
		b.Run(name, func(b *testing.B) {
			store := memory.New(zipfKeys * 2)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var v limit.Verdict
				c := limit.Charge{Limits: perMinute, Costs: one}
				now, ctx := epoch, context.Background()
				for i := rand.IntN(len(keys)); pb.Next(); i++ {
					c.Key = keys[i%len(keys)]
					now = now.Add(time.Microsecond)
					if err := store.Charge(ctx, now, &c, &v); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkBareMap is the yardstick: a counter in a map behind a mutex, which limits nothing.
func BenchmarkBareMap(b *testing.B) {
	for name, keys := range map[string][]string{"hot": {"per-user|user:1|1a2b3c4d"}, "zipf": zipf()} {
		b.Run(name, func(b *testing.B) {
			var mu sync.Mutex
			counts := map[string]int{}
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(len(keys)); pb.Next(); i++ {
					mu.Lock()
					counts[keys[i%len(keys)]]++
					mu.Unlock()
				}
			})
		})
	}
}
