package dynamomodel

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write is an update of one item.
type write struct {
	key       string
	condition *condition // nil for none
	showItem  bool       // in the error if the condition fails
	changes   []change
	before    attributes // the item before the write; nil for none
	after     attributes // and after it
}

// parse checks everything about a request that does not depend on the item.
func (t *Table) parse(r *types.Update) (w *write, err error) {
	w = &write{showItem: r.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld}
	if mode := r.ReturnValuesOnConditionCheckFailure; !slices.Contains(append(mode.Values(), ""), mode) {
		return nil, invalid("Value '%s' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint", mode)
	}
	if w.key, err = t.keyOf(r.TableName, r.Key); err != nil {
		return nil, err
	}
	names, values := r.ExpressionAttributeNames, r.ExpressionAttributeValues
	none := r.ConditionExpression == nil && r.UpdateExpression == nil
	switch {
	case names != nil && len(names) == 0:
		return nil, invalid("ExpressionAttributeNames must not be empty")
	case values != nil && len(values) == 0:
		return nil, invalid("ExpressionAttributeValues must not be empty")
	case none && values != nil:
		return nil, invalid("ExpressionAttributeValues can only be specified when using expressions")
	case none && names != nil:
		return nil, invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	x := parser{names: names, values: values, used: make(map[string]bool, len(names)+len(values))}
	if r.UpdateExpression != nil {
		w.changes = x.update(*r.UpdateExpression, t.partitionKey)
	}
	if r.ConditionExpression != nil && x.err == nil {
		w.condition = x.condition(*r.ConditionExpression)
	}
	return w, x.checkAllUsed()
}

func (t *Table) keyOf(table *string, key attributes) (string, error) {
	switch aws.ToString(table) {
	case t.name:
	case "":
		return "", invalid("Value null at 'tableName' failed to satisfy constraint: Member must not be null")
	default:
		return "", &types.ResourceNotFoundException{Message: aws.String("Requested resource not found")}
	}
	s, ok := key[t.partitionKey].(*types.AttributeValueMemberS)
	if !ok || len(key) != 1 {
		return "", invalid("The provided key element does not match the schema")
	}
	return s.Value, t.checkKey(s.Value)
}

// evaluate computes the item after a write, or returns why the write cannot be
// made. It changes nothing in the table.
func (t *Table) evaluate(w *write) (err error) {
	w.before = t.items[w.key]
	if w.condition != nil && !w.condition.holds(w.before) {
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if w.showItem {
			failed.Item = maps.Clone(w.before)
		}
		return failed
	}
	w.after, err = t.updated(w.key, w.changes, w.before)
	return err
}

// commit makes a write that evaluate has computed.
func (t *Table) commit(w *write) {
	if w.after == nil {
		delete(t.items, w.key)
		return
	}
	t.items[w.key] = w.after
}
