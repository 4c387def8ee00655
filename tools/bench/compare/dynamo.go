package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store/dynamostore"
)

// dynamoDB is a DynamoDB engine with a table of counters.
type dynamoDB struct {
	config aws.Config
	table  string
}

// connectDynamo creates a table in the engine that the environment names.
func connectDynamo(ctx context.Context) (*dynamoDB, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	d := &dynamoDB{cfg, fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())}
	return d, dynamostore.New(dynamodb.NewFromConfig(cfg), d.table).CreateTable(ctx)
}

func (d *dynamoDB) close() {
	_, _ = dynamodb.NewFromConfig(d.config).DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &d.table})
}

// windows returns the limiters by windows, after the bare operation.
func (d *dynamoDB) windows() []subject {
	return []subject{
		{bare, d.openUpdate}, {ours, d.library(slidegate.SlidingWindow)}, {"two counters", d.openTwo}, {"fixed window", d.openFixed},
	}
}

const swapped = "token bucket, swapped"

// buckets returns the token buckets, after the bare operation.
func (d *dynamoDB) buckets() []subject {
	return []subject{{bare, d.openUpdate}, {ours, d.library(tokenBucket)}, {swapped, d.openSwapped}}
}

func tokenBucket(n int64, window time.Duration) slidegate.Limit {
	return slidegate.TokenBucket(n, window, n)
}

// methods are what limiters on DynamoDB usually do, with as few calls as the
// method allows.
type methods struct {
	client *dynamodb.Client
	table  string
	calls  *tally
}

// client returns a client with connections of its own, as many as the
// documentation of dynamostore advises, whose calls are counted.
func (d *dynamoDB) client() *methods {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 64, 128
	})
	t := &tally{}
	return &methods{dynamodb.NewFromConfig(d.config, func(o *dynamodb.Options) { o.HTTPClient = &counting{transport, t} }), d.table, t}
}

// counting counts the calls that pass an HTTP client.
type counting struct {
	next dynamodb.HTTPClient
	*tally
}

// Do sends a request.
func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
		c.writes.Add(1)
	}
	return c.next.Do(r)
}

func (d *dynamoDB) library(by func(int64, time.Duration) slidegate.Limit) func(context.Context, quota) (*limiter, error) {
	return func(_ context.Context, q quota) (*limiter, error) {
		m := d.client()
		options := []slidegate.Option{by(q.capacity, q.window), slidegate.WithName("bench"), strict}
		l, err := library(append(options, slidegate.WithStore(dynamostore.New(m.client, d.table)))...)
		if err != nil {
			return nil, err
		}
		past, err := slidegate.New(append(options, slidegate.WithStore(dynamostore.New(m.client, d.table, dynamostore.WithCallerClock())))...)
		l.calls, l.fill = m.calls.read, filling(past, q.window)
		return l, err
	}
}

// openUpdate is the bare operation: the smallest write that could limit, a
// conditional increment that returns its item.
func (d *dynamoDB) openUpdate(context.Context, quota) (*limiter, error) {
	m := d.client()
	return &limiter{calls: m.calls.read, decide: func(ctx context.Context, key string) (bool, error) {
		_, err := m.update(ctx, key, "ADD #n :one", "attribute_not_exists(#n) OR #n < :max", map[string]int64{":one": 1, ":max": unlimited})
		return err == nil, err
	}}, nil
}

func (d *dynamoDB) openFixed(_ context.Context, q quota) (*limiter, error) {
	m := d.client()
	return &limiter{decide: fixed(q, m.add), calls: m.calls.read}, nil
}

func (d *dynamoDB) openTwo(_ context.Context, q quota) (*limiter, error) {
	m := d.client()
	return &limiter{calls: m.calls.read, decide: twoCounts(q, func(ctx context.Context, newer, older string) (n, before int64, err error) {
		var reading error
		done := make(chan struct{})
		go func() {
			before, reading = m.number(ctx, older)
			close(done)
		}()
		n, err = m.add(ctx, newer)
		<-done
		return n, before, errors.Join(err, reading)
	})}, nil
}

// openSwapped keeps the time at which a bucket is full again. One call reads it,
// and one replaces it if it still is the same; otherwise the request fails.
func (d *dynamoDB) openSwapped(_ context.Context, q quota) (*limiter, error) {
	m := d.client()
	return &limiter{calls: m.calls.read, decide: func(ctx context.Context, key string) (bool, error) {
		full, err := m.number(ctx, key)
		if err != nil {
			return false, err
		}
		now := time.Now().UnixNano()
		next := max(full, now) + int64(q.window)/q.capacity
		if next-now > int64(q.window) {
			return false, nil
		}
		condition, values := "attribute_not_exists(#n)", map[string]int64{":new": next}
		if full != 0 {
			condition, values[":old"] = "#n = :old", full
		}
		_, err = m.update(ctx, key, "SET #n = :new", condition, values)
		return err == nil, err
	}}, nil
}

// add increments the number of an item, and returns it.
func (m *methods) add(ctx context.Context, key string) (int64, error) {
	return m.update(ctx, key, "ADD #n :one", "", map[string]int64{":one": 1})
}

// update writes the number of an item, and returns it.
func (m *methods) update(ctx context.Context, key, expression, condition string, numbers map[string]int64) (int64, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &m.table, Key: item(key), UpdateExpression: &expression, ExpressionAttributeNames: map[string]string{"#n": "n"},
		ExpressionAttributeValues: map[string]types.AttributeValue{}, ReturnValues: types.ReturnValueAllNew,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	for name, n := range numbers {
		in.ExpressionAttributeValues[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	out, err := m.client.UpdateItem(ctx, in)
	if err != nil {
		return 0, err
	}
	return number(out.Attributes)
}

// number reads the number of an item; it is 0 for none.
func (m *methods) number(ctx context.Context, key string) (int64, error) {
	out, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &m.table, Key: item(key), ConsistentRead: aws.Bool(true)})
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
