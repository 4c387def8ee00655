package dynamomodel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// UpdateItem makes one conditional update. A condition that fails is a
// *types.ConditionalCheckFailedException.
func (t *Table) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if err := checkCall(ctx, in == nil); err != nil {
		return nil, err
	}
	if in.AttributeUpdates != nil {
		return nil, unmodelled("AttributeUpdates")
	}
	if err := checkOptions(in.Expected, in.ConditionalOperator, in.ReturnItemCollectionMetrics); err != nil {
		return nil, err
	}
	if !slices.Contains([]types.ReturnValue{"", types.ReturnValueNone, types.ReturnValueAllNew}, in.ReturnValues) {
		return nil, unmodelled("ReturnValues " + string(in.ReturnValues))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := t.parse(&types.Update{
		TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression, UpdateExpression: in.UpdateExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	if err != nil {
		return nil, err
	}
	if err := t.evaluate(w); err != nil {
		return nil, err
	}
	t.commit(w)
	if in.ReturnValues != types.ReturnValueAllNew {
		return &dynamodb.UpdateItemOutput{}, nil
	}
	return &dynamodb.UpdateItemOutput{Attributes: copyItem(w.after)}, nil
}

// GetItem makes a consistent read of an item. It refuses an eventually
// consistent one: DynamoDB may answer that with an earlier state, and the model
// keeps none.
func (t *Table) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if err := checkCall(ctx, in == nil); err != nil {
		return nil, err
	}
	switch {
	case in.AttributesToGet != nil || in.ProjectionExpression != nil || in.ExpressionAttributeNames != nil:
		return nil, unmodelled("reading part of an item")
	case !aws.ToBool(in.ConsistentRead):
		return nil, unmodelled("an eventually consistent read")
	}
	if err := t.checkTable(in.TableName); err != nil {
		return nil, err
	}
	key, err := t.keyOf(in.Key)
	if err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{Item: t.Item(key)}, nil
}

// DeleteItem removes an item if it exists, without a condition.
func (t *Table) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	if err := checkCall(ctx, in == nil); err != nil {
		return nil, err
	}
	if in.ConditionExpression != nil || in.Expected != nil || in.ReturnValues != "" {
		return nil, unmodelled("a condition or an answer of DeleteItem")
	}
	if err := t.checkTable(in.TableName); err != nil {
		return nil, err
	}
	key, err := t.keyOf(in.Key)
	if err != nil {
		return nil, err
	}
	t.Delete(key)
	return &dynamodb.DeleteItemOutput{}, nil
}

// checkCall refuses a call whose context has ended, or that has no input.
func checkCall(ctx context.Context, missing bool) error {
	if missing {
		return invalid("no request")
	}
	return ctx.Err()
}

// checkOptions refuses options of a write that the model lacks.
func checkOptions(
	expected map[string]types.ExpectedAttributeValue, operator types.ConditionalOperator,
	metrics types.ReturnItemCollectionMetrics,
) error {
	switch {
	case expected != nil || operator != "":
		return unmodelled("Expected")
	case metrics != "" && metrics != types.ReturnItemCollectionMetricsNone:
		return unmodelled("ReturnItemCollectionMetrics")
	}
	return nil
}

// checkEnum refuses a value of a field that is none of the SDK's.
func checkEnum[E interface {
	comparable
	Values() []E
}](field string, given E) error {
	var none E
	if given == none || slices.Contains(given.Values(), given) {
		return nil
	}
	return invalid("Value '%v' at '%s' failed to satisfy constraint: Member must satisfy enum value set: %s",
		given, field, strings.ReplaceAll(fmt.Sprint(given.Values()), " ", ", "))
}
