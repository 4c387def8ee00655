package dynamo

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expression collects the parts of one UpdateItem. Every name goes through a # placeholder: none can clash with a
// reserved word.
type expression struct {
	conditions, sets, removals []string
	names                      map[string]string
	values                     map[string]types.AttributeValue
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, values: map[string]types.AttributeValue{}}
}

func (x *expression) name(attribute string) string {
	placeholder := "#" + strings.ReplaceAll(attribute, "-", "_") // a slot before the epoch has a sign
	x.names[placeholder] = attribute
	return placeholder
}

func (x *expression) number(name string, n int64) string {
	x.values[":"+name] = number(n)
	return ":" + name
}

func (x *expression) text(name, s string) string {
	x.values[":"+name] = &types.AttributeValueMemberS{Value: s}
	return ":" + name
}

func (x *expression) binary(name string, b []byte) string {
	x.values[":"+name] = &types.AttributeValueMemberB{Value: b}
	return ":" + name
}

func (x *expression) require(condition ...string) {
	x.conditions = append(x.conditions, strings.Join(condition, " "))
}

func (x *expression) set(attribute string, operand ...string) {
	x.sets = append(x.sets, x.name(attribute)+" = "+strings.Join(operand, " "))
}

func (x *expression) remove(attribute string) {
	x.removals = append(x.removals, x.name(attribute))
}

// orElse is an attribute's value, or another one where it is missing.
func (x *expression) orElse(attribute, otherwise string) string {
	return "if_not_exists(" + x.name(attribute) + ", " + otherwise + ")"
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// update returns the update expression.
func (x *expression) update() string {
	var update []string
	if len(x.sets) > 0 {
		update = append(update, "SET "+strings.Join(x.sets, ", "))
	}
	if len(x.removals) > 0 {
		update = append(update, "REMOVE "+strings.Join(x.removals, ", "))
	}
	return strings.Join(update, " ")
}

func (x *expression) condition() string { return strings.Join(x.conditions, " AND ") }

// input spells the update of an item. Either outcome returns the whole item, so the caller always ends with a view.
func (x *expression) input(table, key string) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                           aws.String(table),
		Key:                                 itemKey(key),
		ConditionExpression:                 aws.String(x.condition()),
		UpdateExpression:                    aws.String(x.update()),
		ExpressionAttributeNames:            x.names,
		ExpressionAttributeValues:           x.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// part spells the update as one of a transaction, which returns an item only if its condition failed.
func (x *expression) part(table, key string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                           aws.String(table),
		Key:                                 itemKey(key),
		ConditionExpression:                 aws.String(x.condition()),
		UpdateExpression:                    aws.String(x.update()),
		ExpressionAttributeNames:            x.names,
		ExpressionAttributeValues:           x.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func itemKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{attrKey: &types.AttributeValueMemberS{Value: key}}
}

// chargeExpression spells a planned charge. newLife marks the item if the write makes it.
func chargeExpression(w *write, newLife string) *expression {
	x := newExpression()
	if w.life != "" {
		x.require(x.name(attrLife), "=", x.text("e", w.life))
	} else {
		x.set(attrLife, x.orElse(attrLife, x.text("e", newLife)))
		if w.proven {
			x.require("attribute_not_exists(" + x.name(attrLife) + ")")
		}
	}
	for _, l := range w.limits {
		l.spell(x, w.proven)
	}
	x.set(attrTTL, x.number("ttl", w.ttl))
	return x
}
