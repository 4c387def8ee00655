package subject

import (
	"context"
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

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
)

// Dynamo is a DynamoDB engine with a table of counters.
type Dynamo struct {
	raw   *dynamodb.Client
	table string
}

// ConnectDynamo creates a table in the engine that the environment names.
func ConnectDynamo(ctx context.Context) (*Dynamo, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	d := &Dynamo{raw: dynamodb.NewFromConfig(cfg), table: fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())}
	table := dynamo.CountersTable(d.table)
	table.TTL = ""
	_, err = dynamo.NewClient(d.raw, time.Now).Create(ctx, table)
	return d, err
}

// Close deletes the table.
func (d *Dynamo) Close() {
	_, _ = d.raw.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &d.table})
}

// Windows returns the limiters by windows, after the bare operation.
func (d *Dynamo) Windows() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: d.openUpdate},
		{Name: Slidegate, Open: d.openSlidegate(slidingWindow)},
		{Name: TwoCounts, Open: d.openTwo},
		{Name: Fixed, Open: d.openFixed},
	}
}

// Buckets returns the token buckets, after the bare operation.
func (d *Dynamo) Buckets() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: d.openUpdate},
		{Name: Slidegate, Open: d.openSlidegate(tokenBucket)},
		{Name: Swapped, Open: d.openSwapped},
	}
}

// client returns the SDK's client with connections of its own, as many as
// Slidegate's client has, whose calls are counted.
func (d *Dynamo) client() (*dynamodb.Client, *tally) {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 64, 128
	})
	t := &tally{}
	return dynamodb.New(d.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = &counting{transport, t} }), t
}

// counting counts the calls that pass an HTTP client, by their operation.
type counting struct {
	next dynamodb.HTTPClient
	*tally
}

// Do sends a request.
func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "GetItem":
		c.reads.Add(1)
	case "TransactWriteItems":
		c.writes.Add(2) // for each item
	default:
		c.writes.Add(1)
	}
	return c.next.Do(r)
}

func (d *Dynamo) openSlidegate(by func(measure.Limit) limit.Limit) func(context.Context, measure.Limit) (*measure.Limiter, error) {
	return func(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
		raw, calls := d.client()
		client := dynamo.NewClient(raw, time.Now)
		s := dynamo.New(client, d.table, dynamo.Options{Wall: time.Now, Confirmed: client.Clock.Confirmed})
		lim := storeLimiter(s, s, by(l), l)
		lim.Calls = calls.read
		return lim, nil
	}
}

// openUpdate is the bare operation: the smallest write that could limit, a
// conditional increment that returns its item.
func (d *Dynamo) openUpdate(context.Context, measure.Limit) (*measure.Limiter, error) {
	client, calls := d.client()
	return &measure.Limiter{Calls: calls.read, Decide: func(ctx context.Context, key string) (bool, error) {
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                &d.table,
			Key:                      map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}},
			ConditionExpression:      aws.String("attribute_not_exists(#n) OR #n < :max"),
			UpdateExpression:         aws.String("ADD #n :one"),
			ExpressionAttributeNames: map[string]string{"#n": "n"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": &types.AttributeValueMemberN{Value: "1"},
				":max": &types.AttributeValueMemberN{Value: strconv.Itoa(limit.MaxCapacity)},
			},
			ReturnValues: types.ReturnValueAllNew,
		})
		return err == nil, err
	}}, nil
}
