package ruletable_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// bubble runs a test on a fake clock.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// empty is an empty table that takes no writes.
type empty struct{ ruletable.API }

func (empty) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

// batches is a table that takes an import. takes returns how many items a call
// of BatchWriteItem takes; all of them by default.
type batches struct {
	ruletable.API
	takes func(call, items int) (int, error)

	mu      sync.Mutex
	calls   int
	now     int // concurrent calls
	most    int // the maximum of now
	written []string
	events  []*dynamodb.TransactWriteItemsInput
}

func (b *batches) enter() (call int) {
	b.mu.Lock()
	b.calls, b.now = b.calls+1, b.now+1
	b.most = max(b.most, b.now)
	call = b.calls
	b.mu.Unlock()
	time.Sleep(time.Millisecond) // on the fake clock: all concurrent calls have begun by then
	b.mu.Lock()
	b.now--
	return call
}

func (b *batches) take(ctx context.Context, items int) (int, error) {
	call := b.enter()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if b.takes == nil {
		return items, nil
	}
	return b.takes(call, items)
}

func (b *batches) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (b *batches) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out := &dynamodb.BatchWriteItemOutput{}
	for table, writes := range in.RequestItems {
		taken, err := b.take(ctx, len(writes))
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		for _, w := range writes[:taken] {
			b.written = append(b.written, w.PutRequest.Item["s"].(*types.AttributeValueMemberS).Value)
		}
		b.mu.Unlock()
		if taken < len(writes) {
			out.UnprocessedItems = map[string][]types.WriteRequest{table: slices.Clone(writes[taken:])}
		}
	}
	return out, nil
}

func (b *batches) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b.events = append(b.events, in)
	return &dynamodb.TransactWriteItemsOutput{}, nil
}
