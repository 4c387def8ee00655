package bench

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/limit"
)

// BenchmarkDynamo charges one key. Each allowed decision is one write, like the
// bare conditional update. At the limit, a snapshot denies without a request.
func BenchmarkDynamo(b *testing.B) {
	client := dynamotest.Connect(b)
	table := dynamotest.Counters(b, client)
	b.Run("allowed/slidegate", func(b *testing.B) { benchCharge(b, client, table, "allowed", limit.MaxCapacity) })
	b.Run("allowed/bare", func(b *testing.B) { benchUpdate(b, client, table) })
	b.Run("denied/slidegate", func(b *testing.B) { benchCharge(b, client, table, "denied", 1) })
}

func benchCharge(b *testing.B, client *dynamo.Client, table, key string, capacity int64) {
	store, ctx := dynamo.New(client, table, dynamo.Options{Wall: time.Now}), context.Background()
	c := &limit.Charge{Key: key, Limits: []limit.Limit{{Capacity: capacity, Window: time.Minute, Granularity: time.Second}}, Costs: one}
	var v limit.Verdict
	if err := store.Charge(ctx, epoch, c, &v); err != nil {
		b.Fatal(err)
	}
	reads, writes := dynamo.Calls(store)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := store.Charge(ctx, epoch.Add(time.Duration(n)*time.Millisecond%(9*time.Second)), c, &v); err != nil {
			b.Fatal(err)
		}
	}
	r, w := dynamo.Calls(store)
	b.ReportMetric(float64(w-writes)/float64(b.N), "writes/op")
	b.ReportMetric(float64(r-reads)/float64(b.N), "reads/op")
}

// benchUpdate makes the smallest write that could count: a conditional
// increment that returns the item.
func benchUpdate(b *testing.B, client *dynamo.Client, table string) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                aws.String(table),
			Key:                      map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "bare"}},
			ConditionExpression:      aws.String("attribute_not_exists(#n) OR #n < :max"),
			UpdateExpression:         aws.String("ADD #n :one"),
			ExpressionAttributeNames: map[string]string{"#n": "n"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": &types.AttributeValueMemberN{Value: "1"},
				":max": &types.AttributeValueMemberN{Value: strconv.Itoa(limit.MaxCapacity)},
			},
			ReturnValues: types.ReturnValueAllNew,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
