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

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

const (
	// maxAttempts bounds the attempts at a change that conflicts with others.
	maxAttempts = 10
	// firstPause and longestPause bound the pauses between attempts, in real
	// time.
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// condition must be true of an item, or its transaction writes nothing. The zero
// value is always true.
type condition struct {
	expression *string
	values     item
}

var (
	absent  = condition{expression: aws.String("attribute_not_exists(p)")}
	present = condition{expression: aws.String("attribute_exists(p)")}
)

// unchanged is the condition that a number of the item still has the value that
// the author read, 0 if there was no item.
func unchanged(attribute string, previous int64) condition {
	if previous == 0 {
		return absent
	}
	return condition{aws.String(attribute + " = :previous"), item{":previous": numberValue(previous)}}
}

func (t *Table) put(i item, c condition) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.name, Item: i, ConditionExpression: c.expression, ExpressionAttributeValues: c.values,
	}}
}

func (t *Table) remove(key item, c condition) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &t.name, Key: key, ConditionExpression: c.expression, ExpressionAttributeValues: c.values,
	}}
}

// transact makes writes and adds the event to the history, all or nothing. It
// fails with ErrConflict if a condition does not hold, or if another
// transaction is in progress on the same item.
func (t *Table) transact(ctx context.Context, e Event, writes ...types.TransactWriteItem) error {
	return t.record(ctx, e.key(), &e, writes...)
}

// record is transact with a key of the history.
func (t *Table) record(ctx context.Context, at item, e *Event, writes ...types.TransactWriteItem) error {
	entry, err := marshal(e, at)
	if err != nil {
		return err
	}
	return t.write(ctx, append(writes, t.put(entry, condition{})))
}

// write is transact without an entry in the history.
func (t *Table) write(ctx context.Context, writes []types.TransactWriteItem) error {
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
