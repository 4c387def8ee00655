package bench

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/dynamostore"
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

func BenchmarkDynamoDB(b *testing.B) {
	table := dynamotest.Counters(b, dynamotest.Connect(b))
	cfg, err := config.LoadDefaultConfig(b.Context())
	check(b, err)
	// on gives a limiter connections of its own, as many as the documentation of
	// dynamostore advises, whose calls are counted.
	on := func(name string, open func(b *testing.B, items *items, quota int64) *opened) subject {
		return subject{name, func(b *testing.B, quota int64) *opened {
			calls := &counter{next: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
				t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 64, 128
			})}
			o := open(b, &items{dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.HTTPClient = calls }), table}, quota)
			o.calls = &calls.Int64
			return o
		}}
	}
	library := func(by func(int64, time.Duration) slidegate.Limit) subject {
		return on(ours, func(b *testing.B, i *items, quota int64) *opened {
			return onStore(b, quota, by, dynamostore.New(i.client, table), dynamostore.New(i.client, table, dynamostore.WithCallerClock()))
		})
	}
	// The smallest write that could limit: a conditional increment that returns its
	// item.
	least := on(bare, func(_ *testing.B, i *items, _ int64) *opened {
		return &opened{decide: func(ctx context.Context, key string) (bool, error) {
			_, err := i.update(ctx, key, "ADD #n :one", "attribute_not_exists(#n) OR #n < :max", map[string]int64{":one": 1, ":max": unlimited})
			return err == nil, err
		}}
	})
	onServer(b,
		[]subject{least, library(slidegate.SlidingWindow), on("two-counters", twoItems), on("fixed-window", func(_ *testing.B, i *items, quota int64) *opened {
			return &opened{decide: fixed(quota, i.add)}
		})},
		[]subject{least, library(tokenBucket), on("swapped-bucket", swapped)})
}

// counter counts the calls that pass an HTTP client.
type counter struct {
	next dynamodb.HTTPClient
	atomic.Int64
}

// Do sends a request.
func (c *counter) Do(r *http.Request) (*http.Response, error) {
	c.Add(1)
	return c.next.Do(r)
}

// items are numbers in a table, one for each key.
type items struct {
	client *dynamodb.Client
	table  string
}

func twoItems(_ *testing.B, i *items, quota int64) *opened {
	return &opened{decide: twoCounts(quota, func(ctx context.Context, newer, older string) (n, before int64, err error) {
		var reading error
		done := make(chan struct{})
		go func() {
			before, reading = i.number(ctx, older)
			close(done)
		}()
		n, err = i.add(ctx, newer)
		<-done
		return n, before, errors.Join(err, reading)
	})}
}

// swapped keeps the time at which a bucket is full again. One call reads it, and
// one replaces it if it still is the same; otherwise the request fails.
func swapped(_ *testing.B, i *items, quota int64) *opened {
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		full, err := i.number(ctx, key)
		if err != nil {
			return false, err
		}
		now := time.Now().UnixNano()
		next := max(full, now) + int64(window)/quota
		if next-now > int64(window) {
			return false, nil
		}
		condition, values := "attribute_not_exists(#n)", map[string]int64{":new": next}
		if full != 0 {
			condition, values[":old"] = "#n = :old", full
		}
		_, err = i.update(ctx, key, "SET #n = :new", condition, values)
		return err == nil, err
	}}
}

// add increments a number, and returns it.
func (i *items) add(ctx context.Context, key string) (int64, error) {
	return i.update(ctx, key, "ADD #n :one", "", map[string]int64{":one": 1})
}

// update writes a number, and returns it.
func (i *items) update(ctx context.Context, key, expression, condition string, numbers map[string]int64) (int64, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &i.table, Key: item(key), UpdateExpression: &expression, ExpressionAttributeNames: map[string]string{"#n": "n"},
		ExpressionAttributeValues: map[string]types.AttributeValue{}, ReturnValues: types.ReturnValueAllNew,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	for name, n := range numbers {
		in.ExpressionAttributeValues[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	out, err := i.client.UpdateItem(ctx, in)
	if err != nil {
		return 0, err
	}
	return number(out.Attributes)
}

// number reads a number; it is 0 for none.
func (i *items) number(ctx context.Context, key string) (int64, error) {
	out, err := i.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &i.table, Key: item(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return 0, err
	}
	return number(out.Item)
}

func item(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}}
}

func number(item map[string]types.AttributeValue) (int64, error) {
	n, ok := item["n"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
