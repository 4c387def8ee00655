package dynamomodel_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// recorder records the updates that a store sends. A store may send them from
// several goroutines: it prunes one counter while it charges another.
type recorder struct {
	dynamo.API
	mu   sync.Mutex
	sent []*dynamodb.UpdateItemInput
}

func (r *recorder) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	r.mu.Lock()
	r.sent = append(r.sent, in)
	r.mu.Unlock()
	return r.API.UpdateItem(ctx, in, opts...)
}

// BenchmarkUpdateItem repeats the charge that a store with a snapshot sends, on
// items of few slots and of many.
func BenchmarkUpdateItem(b *testing.B) {
	for _, slots := range []int{1, 60} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			table := dynamomodel.New("counters", "k")
			in := lastCharge(b, table, slots)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := table.UpdateItem(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// lastCharge charges each of some slots and returns the last write.
func lastCharge(b *testing.B, table *dynamomodel.Table, slots int) *dynamodb.UpdateItemInput {
	r := &recorder{API: table}
	store := dynamo.New(r, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	c := &limit.Charge{
		Key:    "per-user|user:241531|0badcafe",
		Limits: []limit.Limit{{Capacity: 1 << 31, Window: time.Minute, Granularity: time.Second}},
		Costs:  []int64{1},
	}
	for slot := range slots + 1 {
		if err := store.Charge(context.Background(), epoch.Add(time.Duration(slot)*time.Second), c, &limit.Verdict{}); err != nil {
			b.Fatal(err)
		}
	}
	return r.sent[len(r.sent)-1]
}
