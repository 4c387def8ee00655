package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/redisstore"
)

func BenchmarkRedis(b *testing.B) {
	address := servers.StartRedis(b).Address
	// on gives a limiter connections of its own, whose calls are counted.
	on := func(name string, open func(b *testing.B, client *redis.Client, quota int64) *opened) subject {
		return subject{name, func(b *testing.B, quota int64) *opened {
			client, calls := redis.NewClient(&redis.Options{Addr: address, DisableIdentity: true, ContextTimeoutEnabled: true}), &tally{}
			b.Cleanup(func() { _ = client.Close() })
			client.AddHook(calls)
			o := open(b, client, quota)
			o.calls = &calls.Int64
			return o
		}}
	}
	library := func(by func(int64, time.Duration) slidegate.Limit) subject {
		return on(ours, func(b *testing.B, client *redis.Client, quota int64) *opened {
			return onStore(b, quota, by, redisstore.New(client), redisstore.New(client, redisstore.WithCallerClock()))
		})
	}
	least, rate, throttled := on(bare, redisScript), on("redis_rate", redisRate), on("throttled", func(b *testing.B, client *redis.Client, quota int64) *opened {
		store, err := goredisstore.NewCtx(client, "throttled:")
		check(b, err)
		return byThrottled(b, store, quota)
	})
	ulule := on("ulule", func(b *testing.B, client *redis.Client, quota int64) *opened {
		store, err := ululeredis.NewStore(client)
		check(b, err)
		return byUlule(store, quota)
	})
	onServer(b,
		[]subject{least, library(slidegate.SlidingWindow), throttled, ulule, rate},
		[]subject{least, library(tokenBucket), throttled, rate})
}

// tally counts round trips.
type tally struct{ atomic.Int64 }

// DialHook counts nothing.
func (t *tally) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command.
func (t *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts commands that are sent together as one.
func (t *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.Add(1)
		return next(ctx, cmds)
	}
}

// incr is the smallest script that could limit.
var incr = redis.NewScript(`return redis.call("incr", KEYS[1])`)

// redisScript is the bare operation: a call of that script by its hash.
func redisScript(_ *testing.B, client *redis.Client, _ int64) *opened {
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		err := incr.Run(ctx, client, []string{key}).Err()
		return err == nil, err
	}}
}

func redisRate(_ *testing.B, client *redis.Client, quota int64) *opened {
	lim, most := redis_rate.NewLimiter(client), redis_rate.Limit{Rate: int(quota), Burst: int(quota), Period: window}
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		r, err := lim.Allow(ctx, key, most)
		return err == nil && r.Allowed > 0, err
	}}
}
