package dynamomodel_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// epoch is the start of every trace: a whole minute.
var epoch = time.Unix(1_700_000_040, 0)

// TestExpressionsAreValid makes the store send each kind of write, with as many
// limits as a rule may have. The model refuses every write that DynamoDB would
// refuse.
func TestExpressionsAreValid(t *testing.T) {
	var limits []limit.Limit
	var costs, up, down []int64
	for i := range 8 {
		limits = append(limits, limit.Limit{Name: string(rune('a' + i)), Capacity: 1000, Window: time.Minute,
			Granularity: time.Second})
		costs, up, down = append(costs, 2), append(up, 1), append(down, -1)
	}
	table := dynamomodel.New(tableName, "k")
	var mu sync.Mutex // the store prunes one counter while it charges another
	var sent []*dynamodb.UpdateItemInput
	double := &dynamotest.Double{API: table}
	double.Update = func(
		_ context.Context, in *dynamodb.UpdateItemInput, send dynamotest.Send[dynamodb.UpdateItemOutput],
	) (*dynamodb.UpdateItemOutput, error) {
		mu.Lock()
		sent = append(sent, in)
		mu.Unlock()
		return send()
	}
	newStore := func() *dynamo.Store {
		return dynamo.New(double, tableName, dynamo.Options{Wall: func() time.Time { return epoch }})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store, c, v := newStore(), &limit.Charge{Key: "long", Limits: limits, Costs: costs}, limit.Verdict{}
	charge := func(s *dynamo.Store, slot int) {
		t.Helper()
		must(s.Charge(context.Background(), epoch.Add(time.Duration(slot)*time.Second), c, &v))
	}
	for slot := range 61 {
		charge(store, slot)
	}
	receipt := v.Receipt
	must(store.Settle(context.Background(), epoch.Add(time.Minute), c, &receipt, up))
	must(store.Settle(context.Background(), epoch.Add(time.Minute), c, &receipt, down))
	charge(newStore(), 62) // without a snapshot
	other := newStore()
	charge(other, 1000) // all its slots expired: it only prunes, for another key
	c.Key = "another"
	charge(other, 1000)
	c.Key = "long"
	charge(store, 1001) // removes the expired slots of its snapshot
	longest := 0
	for _, in := range sent {
		longest = max(longest, len(aws.ToString(in.UpdateExpression)))
	}
	if longest < 1500 || len(sent) < 65 {
		t.Errorf("%d writes, the longest of %d bytes: too few or too short", len(sent), longest)
	}
}
