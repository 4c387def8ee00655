package dynamomodel

import (
	"context"
	"maps"
	"reflect"
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
	if err := checkCall(ctx, in, "TableName Key ConditionExpression UpdateExpression ExpressionAttributeNames "+
		"ExpressionAttributeValues ReturnValues ReturnValuesOnConditionCheckFailure"); err != nil {
		return nil, err
	}
	if !slices.Contains([]types.ReturnValue{"", types.ReturnValueNone, types.ReturnValueAllNew}, in.ReturnValues) {
		return nil, unmodelled("ReturnValues " + string(in.ReturnValues))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := t.parse(updateOf(in))
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
	return &dynamodb.UpdateItemOutput{Attributes: maps.Clone(w.after)}, nil
}

// updateOf returns a request as a member of a transaction.
func updateOf(in *dynamodb.UpdateItemInput) *types.Update {
	return &types.Update{
		TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression, UpdateExpression: in.UpdateExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	}
}

// GetItem makes a consistent read of an item. It refuses an eventually
// consistent one: DynamoDB may answer that with an earlier state, and the model
// keeps none.
func (t *Table) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if err := checkCall(ctx, in, "TableName Key ConsistentRead"); err != nil {
		return nil, err
	}
	if !aws.ToBool(in.ConsistentRead) {
		return nil, unmodelled("an eventually consistent read")
	}
	key, err := t.keyOf(in.TableName, in.Key)
	if err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{Item: t.Item(key)}, nil
}

// DeleteItem removes an item if it exists, without a condition.
func (t *Table) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	if err := checkCall(ctx, in, "TableName Key"); err != nil {
		return nil, err
	}
	key, err := t.keyOf(in.TableName, in.Key)
	if err != nil {
		return nil, err
	}
	t.Delete(key)
	return &dynamodb.DeleteItemOutput{}, nil
}

// checkCall refuses a call whose context has ended, one without a request, and
// one with a field that the model lacks.
func checkCall(ctx context.Context, in any, modelled string) error {
	v := reflect.ValueOf(in)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case v.IsNil():
		return invalid("no request")
	}
	return checkFields(v.Elem(), modelled)
}

func checkFields(v reflect.Value, modelled string) error {
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if name := v.Type().Field(i).Name; !slices.Contains(strings.Fields(modelled), name) {
			return unmodelled(name)
		}
	}
	return nil
}
