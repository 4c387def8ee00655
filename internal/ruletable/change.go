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
	// maxAttempts bounds the attempts at a change that conflicts with others.
	maxAttempts = 10
	// firstPause and longestPause bound the pauses between attempts, in real
	// time.
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// change is one write of a transaction. If its condition does not hold, the
// transaction writes nothing.
type change struct {
	put       item // the new item, or nil
	remove    item // the key of the item to remove, or nil
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

// transact makes changes and adds the event to the history, all or nothing. It
// fails with ErrConflict if a condition does not hold, or if another
// transaction is in progress on the same item.
func (t *Table) transact(ctx context.Context, e Event, changes ...change) error {
	var writes []types.TransactWriteItem
	for _, c := range append(changes, change{put: e.item()}) {
		writes = append(writes, c.on(t.name))
	}
	_, err := t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	if conflicts(err) {
		return t.errorf("%w", ErrConflict)
	}
	return dynamo.Translate(err, t.name)
}

// conflicts reports whether a transaction wrote nothing because of another
// change.
func conflicts(err error) bool {
	var canceled *types.TransactionCanceledException
	return errors.As(err, &canceled) && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		return aws.ToString(r.Code) == "ConditionalCheckFailed" || aws.ToString(r.Code) == "TransactionConflict"
	})
}

// pause waits before the next attempt: twice as long each time, up to
// longestPause, minus a random part so that two writers do not collide again.
// It returns early, with the cause, if the context ends.
func pause(ctx context.Context, attempts int) error {
	longest := min(longestPause, firstPause<<min(attempts-1, 10))
	select {
	case <-time.After(longest - rand.N(longest/2)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
