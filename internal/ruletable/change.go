package ruletable

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamo"
)

const (
	// maxAttempts bounds how often a change is tried that others stand in the way of.
	maxAttempts = 10
	// firstPause and longestPause bound how long it waits before it is tried again, in real time.
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// change is one write of a transaction: its condition, if any, must hold or nothing is written.
type change struct {
	put       item // the item as it will be, or nil
	remove    item // the key of an item to remove, or nil
	condition string
	values    item
}

func (c change) on(table string) types.TransactWriteItem {
	var condition *string
	if c.condition != "" {
		condition = aws.String(c.condition)
	}
	if c.remove != nil {
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: aws.String(table), Key: c.remove, ConditionExpression: condition, ExpressionAttributeValues: c.values,
		}}
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String(table), Item: c.put, ConditionExpression: condition, ExpressionAttributeValues: c.values,
	}}
}

// transact makes changes and writes the event into the history: all of it or nothing. It fails with ErrConflict if a
// condition does not hold, or if somebody else's transaction is under way on the same item.
func (t *Table) transact(ctx context.Context, e Event, changes ...change) error {
	var writes []types.TransactWriteItem
	for _, c := range append(changes, change{put: e.item()}) {
		writes = append(writes, c.on(t.name))
	}
	_, err := t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	if overtaken(err) {
		return t.errorf("%w", ErrConflict)
	}
	return dynamo.Translate(err, t.name)
}

// overtaken reports whether a transaction was cancelled, with nothing done, because of somebody else.
func overtaken(err error) bool {
	var canceled *types.TransactionCanceledException
	return errors.As(err, &canceled) && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		return aws.ToString(r.Code) == "ConditionalCheckFailed" || aws.ToString(r.Code) == "TransactionConflict"
	})
}

// pause waits before an attempt that follows so many: twice as long each time, within bounds, and up to half less by
// chance, so that those who met do not meet again. It ends early, with the reason, when the context does.
func pause(ctx context.Context, attempts int) error {
	longest := min(longestPause, firstPause<<min(attempts-1, 10))
	select {
	case <-time.After(longest - rand.N(longest/2)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
