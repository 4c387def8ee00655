package subject

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/go-redis/redis_rate/v10"
	goredis "github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/internal/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/redis"
)

// Redis is a Redis server.
type Redis struct{ Address string }

// Limiters returns the limiters on Redis, after the bare operation.
func (r *Redis) Limiters() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: r.openScript},
		{Name: Slidegate, Open: r.openSlidegate(slidingWindow)},
		{Name: "ulule/limiter", Open: r.openUlule},
		{Name: "redis_rate", Open: r.openRate},
		{Name: "throttled", Open: r.openThrottled},
		{Name: TwoCounts, Open: r.openTwo},
		{Name: Fixed, Open: r.openFixed},
	}
}

// Buckets returns the token buckets, after the bare operation.
func (r *Redis) Buckets() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: r.openScript},
		{Name: Slidegate, Open: r.openSlidegate(tokenBucket)},
		{Name: "redis_rate", Open: r.openRate},
		{Name: "throttled", Open: r.openThrottled},
	}
}

// Logs returns the log of every request, after the bare operation.
func (r *Redis) Logs() []measure.Subject {
	return []measure.Subject{{Name: Bare, Open: r.openScript}, {Name: Slidegate, Open: r.openSlidegate(slidingLog)}}
}

// client returns a client with connections of its own, whose calls are counted.
func (r *Redis) client() (*goredis.Client, *tally) {
	c, t := goredis.NewClient(&goredis.Options{Addr: r.Address, DisableIdentity: true}), &tally{}
	c.AddHook(t)
	return c, t
}

// DialHook and the methods after it count round trips.
func (t *tally) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return next(ctx, network, address)
	}
}

// ProcessHook counts a command.
func (t *tally) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		t.calls.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts commands that are sent together as one.
func (t *tally) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		t.calls.Add(1)
		return next(ctx, cmds)
	}
}

// incr is the smallest script that could limit.
var incr = goredis.NewScript(`return redis.call("incr", KEYS[1])`)

// openScript is the bare operation: a call of that script by its hash.
func (r *Redis) openScript(context.Context, measure.Limit) (*measure.Limiter, error) {
	client, calls := r.client()
	return &measure.Limiter{Calls: calls.read, Close: closing(client), Decide: func(ctx context.Context, key string) (bool, error) {
		err := incr.Run(ctx, client, []string{key}).Err()
		return err == nil, err
	}}, nil
}

func closing(client *goredis.Client) func() { return func() { _ = client.Close() } }

// openSlidegate decides by the server's clock, as programs do.
func (r *Redis) openSlidegate(by func(measure.Limit) limit.Limit) func(context.Context, measure.Limit) (*measure.Limiter, error) {
	return func(ctx context.Context, l measure.Limit) (*measure.Limiter, error) {
		address, err := redis.ParseAddress("redis://"+r.Address, "")
		if err != nil {
			return nil, err
		}
		connection, err := redis.Open(ctx, address)
		if err != nil {
			return nil, err
		}
		calls := &tally{}
		connection.AddHook(calls)
		lim := storeLimiter(redis.New(connection, redis.Options{Clock: clock.Machine(time.Now), OneServer: true}), redis.New(connection, redis.Options{CallerClock: true}), by(l), l)
		lim.Calls, lim.Close = calls.read, func() { _ = connection.Close() }
		return lim, nil
	}
}

func (r *Redis) openUlule(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	client, calls := r.client()
	store, err := ululeredis.NewStore(client)
	if err != nil {
		return nil, err
	}
	lim := ululeBy(store, l)
	lim.Calls, lim.Close = calls.read, closing(client)
	return lim, nil
}

func (r *Redis) openRate(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	client, calls := r.client()
	lim := redis_rate.NewLimiter(client)
	most := redis_rate.Limit{Rate: int(l.Capacity), Burst: int(l.Capacity), Period: l.Window}
	return &measure.Limiter{Calls: calls.read, Close: closing(client), Decide: func(ctx context.Context, key string) (bool, error) {
		result, err := lim.Allow(ctx, key, most)
		return err == nil && result.Allowed > 0, err
	}}, nil
}

func (r *Redis) openThrottled(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	client, calls := r.client()
	store, err := goredisstore.NewCtx(client, "throttled:")
	if err != nil {
		return nil, err
	}
	lim, err := throttledBy(store, l)
	if err != nil {
		return nil, err
	}
	lim.Calls, lim.Close = calls.read, closing(client)
	return lim, nil
}

func (r *Redis) openFixed(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	client, calls := r.client()
	add := func(ctx context.Context, key string) (int64, error) {
		pipe := client.Pipeline()
		n := pipe.Incr(ctx, key)
		pipe.PExpire(ctx, key, l.Window+time.Second)
		_, err := pipe.Exec(ctx)
		return n.Val(), err
	}
	return &measure.Limiter{Calls: calls.read, Close: closing(client), Decide: fixed(l, add)}, nil
}

func (r *Redis) openTwo(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	client, calls := r.client()
	both := func(ctx context.Context, newer, older string) (int64, int64, error) {
		pipe := client.Pipeline()
		n, before := pipe.Incr(ctx, newer), pipe.Get(ctx, older)
		pipe.PExpire(ctx, newer, 2*l.Window+time.Second)
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
			return 0, 0, err
		}
		older64, err := before.Int64()
		if errors.Is(err, goredis.Nil) {
			err = nil
		}
		return n.Val(), older64, err
	}
	return &measure.Limiter{Calls: calls.read, Close: closing(client), Decide: twoCounts(l, both)}, nil
}
