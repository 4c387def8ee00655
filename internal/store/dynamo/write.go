package dynamo

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// counters reads and writes the items of one table, and keeps the snapshots
// that the answers contain.
type counters struct {
	api       API
	table     string
	opts      Options
	snapshots *snapshotCache
	pruning   atomic.Pointer[pruning]
	reads     atomic.Int64
	writes    atomic.Int64
}

// outcome tells how a write without an error ended. DynamoDB has changed the item
// only if it is written.
type outcome uint8

const (
	written             outcome = iota
	conditionFailed             // the answer has the item, unless it is gone
	transactionConflict         // a transaction is writing the item, so the answer lacks it
)

// send makes one conditional write, once. It returns the item afterwards, written
// or refused; nil if there is none, or if a transaction hides it. After an error
// the outcome is unknown, unless DynamoDB itself reported the error.
func (s *counters) send(
	ctx context.Context, now time.Time, c *limit.Charge, u *protocol.Update,
) (after *protocol.Snapshot, o outcome, err error) {
	s.writes.Add(1)
	out, err := s.api.UpdateItem(ctx, updateInput(u.Request(s.table, c.Key)))
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		after, err = s.keep(c, failed.Item, now)
		return after, conditionFailed, err
	}
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return nil, transactionConflict, nil
	}
	if err != nil {
		return nil, conditionFailed, Translate(err, s.table)
	}
	if after, err = s.keep(c, out.Attributes, now); after == nil && err == nil {
		err = Translate(errNoItem, s.table) // the endpoint is not DynamoDB
	}
	return after, written, err
}

// updateInput makes an update a request of its own, which returns the whole
// item whatever its outcome.
func updateInput(u *types.Update) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key,
		ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	}
}
