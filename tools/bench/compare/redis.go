package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store/redisstore"
)

// redisServer is the address of a redis-server.
type redisServer string

// windows returns the limiters by windows, after the bare operation, and the
// buckets of packages that have nothing else.
func (r redisServer) windows() []subject {
	return []subject{
		{bare, r.on(openScript)},
		{ours, r.library(slidegate.SlidingWindow)},
		{"ulule/limiter", r.on(func(client *redis.Client, q quota) (*limiter, error) {
			store, err := ululeredis.NewStore(client)
			return ulule(store, q), err
		})},
		{"redis_rate", r.on(openRedisRate)},
		{"throttled", r.on(openThrottledRedis)},
		{"two counters", r.on(openRedisTwo)},
		{"fixed window", r.on(openRedisFixed)},
	}
}

// buckets returns the token buckets, after the bare operation.
func (r redisServer) buckets() []subject {
	return []subject{
		{bare, r.on(openScript)}, {ours, r.library(tokenBucket)}, {"redis_rate", r.on(openRedisRate)}, {"throttled", r.on(openThrottledRedis)},
	}
}

// on gives a subject a client with connections of its own, whose calls are
// counted.
func (r redisServer) on(open func(*redis.Client, quota) (*limiter, error)) func(context.Context, quota) (*limiter, error) {
	return func(_ context.Context, q quota) (*limiter, error) {
		client, t := redis.NewClient(&redis.Options{Addr: string(r), DisableIdentity: true, ContextTimeoutEnabled: true}), &tally{}
		client.AddHook(t)
		l, err := open(client, q)
		if err != nil {
			return nil, err
		}
		l.calls, l.close = t.read, func() { _ = client.Close() }
		return l, nil
	}
}

// DialHook and the methods after it count round trips.
func (t *tally) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command.
func (t *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.calls.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts commands that are sent together as one.
func (t *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.calls.Add(1)
		return next(ctx, cmds)
	}
}

func (r redisServer) library(by func(int64, time.Duration) slidegate.Limit) func(context.Context, quota) (*limiter, error) {
	return r.on(func(client *redis.Client, q quota) (*limiter, error) {
		options := []slidegate.Option{by(q.capacity, q.window), slidegate.WithName("bench"), strict}
		l, err := library(append(options, slidegate.WithStore(redisstore.New(client)))...)
		if err != nil {
			return nil, err
		}
		past, err := slidegate.New(append(options, slidegate.WithStore(redisstore.New(client, redisstore.WithCallerClock())))...)
		l.fill = filling(past, q.window)
		return l, err
	})
}

// incr is the smallest script that could limit.
var incr = redis.NewScript(`return redis.call("incr", KEYS[1])`)

// openScript is the bare operation: a call of that script by its hash.
func openScript(client *redis.Client, _ quota) (*limiter, error) {
	return &limiter{decide: func(ctx context.Context, key string) (bool, error) {
		err := incr.Run(ctx, client, []string{key}).Err()
		return err == nil, err
	}}, nil
}

func openRedisRate(client *redis.Client, q quota) (*limiter, error) {
	lim := redis_rate.NewLimiter(client)
	most := redis_rate.Limit{Rate: int(q.capacity), Burst: int(q.capacity), Period: q.window}
	return &limiter{decide: func(ctx context.Context, key string) (bool, error) {
		r, err := lim.Allow(ctx, key, most)
		return err == nil && r.Allowed > 0, err
	}}, nil
}

func openThrottledRedis(client *redis.Client, q quota) (*limiter, error) {
	store, _ := goredisstore.NewCtx(client, "throttled:") // never fails
	return throttledBy(store, q)
}

func openRedisFixed(client *redis.Client, q quota) (*limiter, error) {
	return &limiter{decide: fixed(q, func(ctx context.Context, key string) (int64, error) {
		pipe := client.Pipeline()
		n := pipe.Incr(ctx, key)
		pipe.PExpire(ctx, key, q.window+time.Second)
		_, err := pipe.Exec(ctx)
		return n.Val(), err
	})}, nil
}

func openRedisTwo(client *redis.Client, q quota) (*limiter, error) {
	return &limiter{decide: twoCounts(q, func(ctx context.Context, newer, older string) (int64, int64, error) {
		pipe := client.Pipeline()
		n, before := pipe.Incr(ctx, newer), pipe.Get(ctx, older)
		pipe.PExpire(ctx, newer, 2*q.window+time.Second)
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return 0, 0, err
		}
		count, _ := before.Int64() // 0 for none
		return n.Val(), count, nil
	})}, nil
}
