package dynamomodel

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// UpdateItem makes one conditional update. A condition that fails is a
// *types.ConditionalCheckFailedException.
func (t *Table) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := checkUpdateItem(ctx, in); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arena.reset()
	w, err := t.parse(&request{
		table: in.TableName, key: in.Key, condition: in.ConditionExpression, update: in.UpdateExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
	}, updates)
	if err != nil {
		return nil, err
	}
	if before := t.attributes(w.key); !w.allowed(before) {
		return nil, refused(w.shown(before))
	}
	if err := t.compute(w); err != nil {
		return nil, err
	}
	out := &dynamodb.UpdateItemOutput{}
	switch in.ReturnValues {
	case types.ReturnValueAllOld:
		out.Attributes = copyItem(t.attributes(w.key))
	case types.ReturnValueUpdatedOld:
		out.Attributes = w.changed(t.attributes(w.key))
	}
	t.commit(w)
	switch in.ReturnValues {
	case types.ReturnValueAllNew:
		out.Attributes = copyItem(t.attributes(w.key))
	case types.ReturnValueUpdatedNew:
		out.Attributes = w.changed(t.attributes(w.key))
	}
	return out, nil
}

// changed copies those attributes that an update names; nil if the item has
// none of them.
func (w *write) changed(stored attributes) attributes {
	var named attributes
	for i := range w.changes {
		name := w.changes[i].name
		if v := stored[name]; v != nil {
			if named == nil {
				named = attributes{}
			}
			named[name] = copyValue(v)
		}
	}
	return named
}

func checkUpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case in == nil:
		return invalid("no request")
	case in.AttributeUpdates != nil:
		return unmodelled("AttributeUpdates")
	case in.Expected != nil || in.ConditionalOperator != "":
		return unmodelled("Expected")
	}
	switch in.ReturnValues {
	case "", types.ReturnValueNone, types.ReturnValueAllOld, types.ReturnValueAllNew, types.ReturnValueUpdatedOld, types.ReturnValueUpdatedNew:
		return checkMetrics(in.ReturnItemCollectionMetrics)
	}
	return invalid("Value '%s' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: "+
		"[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]", in.ReturnValues)
}

// GetItem reads an item, consistently. It refuses a read that is not asked to
// be consistent: DynamoDB may answer that with an earlier state, and this model
// has none.
func (t *Table) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case in == nil:
		return nil, invalid("no request")
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

// DeleteItem removes an item if its condition holds, also if there is none.
func (t *Table) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := checkDeleteItem(ctx, in); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arena.reset()
	w, err := t.parse(&request{
		table: in.TableName, key: in.Key, condition: in.ConditionExpression,
		names: in.ExpressionAttributeNames, values: in.ExpressionAttributeValues, onFailure: in.ReturnValuesOnConditionCheckFailure,
	}, erases)
	if err != nil {
		return nil, err
	}
	before := t.attributes(w.key)
	if !w.allowed(before) {
		return nil, refused(w.shown(before))
	}
	t.commit(w)
	out := &dynamodb.DeleteItemOutput{}
	if in.ReturnValues == types.ReturnValueAllOld {
		out.Attributes = copyItem(before)
	}
	return out, nil
}

func checkDeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case in == nil:
		return invalid("no request")
	case in.Expected != nil || in.ConditionalOperator != "":
		return unmodelled("Expected")
	}
	switch in.ReturnValues {
	case "", types.ReturnValueNone, types.ReturnValueAllOld:
		return checkMetrics(in.ReturnItemCollectionMetrics)
	}
	return invalid("ReturnValues can only be ALL_OLD or NONE")
}

func checkMetrics(m types.ReturnItemCollectionMetrics) error {
	if m != "" && m != types.ReturnItemCollectionMetricsNone {
		return unmodelled("ReturnItemCollectionMetrics")
	}
	return nil
}
