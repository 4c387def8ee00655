package dynamo_test

import (
	"context"
	"flag"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// wide is for `make engines`: a local engine takes a minute for the whole suite.
var wide = flag.Bool("wide", false, "run all of the conformance suite's random calls on the engine and the model, not a tenth")

// TestConformance runs the conformance suite on a real engine.
func TestConformance(t *testing.T) {
	if *onModel {
		t.Skip("on the model it is TestConformanceOnModel")
	}
	histories := 0
	if !*wide {
		storetest.Few(t, 10)
		histories = 15
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		client := dynamotest.Connect(t)
		h := harness(client, dynamotest.Counters(t, client), 1)
		h.Histories = histories
		return h
	})
}

// TestConformanceOnModel runs the suite on the model of DynamoDB, which is fast
// enough for more random sequences.
func TestConformanceOnModel(t *testing.T) {
	rounds, histories := 1, 60
	if *wide {
		rounds, histories = 3, 200
	}
	storetest.Run(t, func(*testing.T) storetest.Harness {
		h := harness(dynamomodel.New("counters", "k"), "counters", rounds)
		h.Histories = histories
		return h
	})
}

// harness creates clients of one table. Each has its own snapshots, by which it
// denies for ten seconds.
func harness(engine dynamo.API, table string, rounds int) storetest.Harness {
	return storetest.Harness{
		Client: func(testing.TB) limit.Store {
			return dynamo.New(engine, table, dynamo.Options{Wall: time.Now})
		},
		Expire: func(t testing.TB, key string) {
			t.Helper()
			if _, err := engine.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: &table, Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}},
			}); err != nil {
				t.Fatal(err)
			}
		},
		Lag: 10 * time.Second, Rounds: rounds,
	}
}

// TestConformanceOfWornCounters runs the suite on counters whose totals begin so
// large that their next charge lowers them, and begins a new generation.
func TestConformanceOfWornCounters(t *testing.T) {
	storetest.Few(t, 40)
	storetest.Run(t, func(*testing.T) storetest.Harness {
		h := harness(&worn{Table: dynamomodel.New("counters", "k")}, "counters", 1)
		h.Histories = 20
		return h
	})
}

// worn is a table that adds 2⁶² units to the totals of each new item.
type worn struct {
	mu sync.Mutex
	*dynamomodel.Table
}

func (w *worn) wear(keys ...map[string]types.AttributeValue) (worn func()) {
	var created []string
	for _, key := range keys {
		if k := key["k"].(*types.AttributeValueMemberS).Value; w.Item(k) == nil {
			created = append(created, k)
		}
	}
	return func() {
		for _, k := range created {
			item := w.Item(k)
			for name, value := range item {
				if strings.HasSuffix(name, "C") {
					item[name] = dynamomodel.Number(1<<62 + dynamomodel.Units(value))
				}
			}
			if item != nil {
				_ = w.Put(k, item)
			}
		}
	}
}

func (w *worn) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.wear(in.Key)()
	return w.Table.UpdateItem(ctx, in)
}

func (w *worn) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]map[string]types.AttributeValue, len(in.TransactItems))
	for i := range keys {
		keys[i] = in.TransactItems[i].Update.Key
	}
	defer w.wear(keys...)()
	return w.Table.TransactWriteItems(ctx, in)
}
