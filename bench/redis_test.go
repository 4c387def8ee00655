package bench

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/redistest"
)

// BenchmarkRedis decides on one key beside a bare INCR, on the same server
// through the same client: in a full window of 60 slots where there is room and
// where there is none, by a bucket, and by a log of 1,000 requests.
func BenchmarkRedis(b *testing.B) {
	server := redistest.Start(b)
	address, err := redis.ParseAddress(server.URL(), "")
	if err != nil {
		b.Fatal(err)
	}
	connection, err := redis.Open(b.Context(), address)
	if err != nil {
		b.Fatal(err)
	}
	defer connection.Close()
	store := redis.New(connection, redis.Options{CallerClock: true})
	window := limit.Limit{Capacity: limit.MaxCapacity, Window: time.Minute, Granularity: time.Second}
	denied := limit.Limit{Capacity: 60, Window: time.Minute, Granularity: time.Second}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 1_000_000, Window: time.Second, Burst: 1_000_000}
	log := limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: limit.MaxLog, Window: time.Minute, Granularity: limit.Exact}
	b.Run("window/slidegate", func(b *testing.B) { benchRedis(b, server, store, &window, 60, time.Millisecond) })
	b.Run("denied/slidegate", func(b *testing.B) { benchRedis(b, server, store, &denied, 60, 0) })
	b.Run("bucket/slidegate", func(b *testing.B) { benchRedis(b, server, store, &bucket, 1, time.Millisecond) })
	b.Run("log/slidegate", func(b *testing.B) { benchRedis(b, server, store, &log, limit.MaxLog, 60*time.Millisecond) })
	b.Run("window/bare", func(b *testing.B) {
		defer serverTime(b, server, "incr")()
		for b.Loop() {
			if err := connection.Incr(b.Context(), "bare").Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchRedis fills a window by charges in equal steps, and measures more of
// them.
func benchRedis(b *testing.B, server *redistest.Server, store *redis.Store, l *limit.Limit, fill int, step time.Duration) {
	ctx, now := context.Background(), epoch
	c := &limit.Charge{Key: b.Name(), Limits: []limit.Limit{*l}, Costs: one}
	var v limit.Verdict
	charge := func(on time.Duration) {
		now = now.Add(on)
		if err := store.Charge(ctx, now, c, &v); err != nil {
			b.Fatal(err)
		}
	}
	for range fill {
		charge(l.Window / time.Duration(fill))
	}
	b.ReportAllocs()
	defer serverTime(b, server, "evalsha")()
	for b.Loop() {
		charge(step)
	}
}

// serverTime reports what each call of a command takes of the server's one
// thread.
func serverTime(b *testing.B, server *redistest.Server, command string) func() {
	if err := server.Client.ConfigResetStat(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
	return func() {
		stats, err := server.Client.Info(context.Background(), "commandstats").Result()
		if err != nil {
			b.Fatal(err)
		}
		match := regexp.MustCompile(`cmdstat_` + command + `:.*usec_per_call=([0-9.]+)`).FindStringSubmatch(stats)
		if match == nil {
			b.Fatal(stats)
		}
		µs, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(µs, "server-µs/op")
	}
}
