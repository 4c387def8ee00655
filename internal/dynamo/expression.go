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

// input spells the update for an item. Either outcome returns the whole item, so the caller always ends with a view.
func (x *expression) input(table, key string) *dynamodb.UpdateItemInput {
	update := ""
	if len(x.sets) > 0 {
		update = "SET " + strings.Join(x.sets, ", ")
	}
	if len(x.removals) > 0 {
		update += " REMOVE " + strings.Join(x.removals, ", ")
	}
	in := &dynamodb.UpdateItemInput{
		TableName:                           aws.String(table),
		Key:                                 itemKey(key),
		ConditionExpression:                 aws.String(strings.Join(x.conditions, " AND ")),
		UpdateExpression:                    aws.String(strings.TrimSpace(update)),
		ExpressionAttributeNames:            x.names,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if len(x.values) > 0 {
		in.ExpressionAttributeValues = x.values
	}
	return in
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
	}
	for i := range w.limits {
		lw := &w.limits[i]
		x.conditions = append(x.conditions, chargeCondition(x, lw, w.life != ""))
		chargeUpdate(x, lw)
	}
	x.set(attrTTL, x.number("ttl", w.ttl))
	return x
}

// chargeCondition holds if the charge keeps its limit: the total is under the ceiling that the view proves, or the credit
// that an earlier caller worked out covers the cost. Time must not run backwards in either case.
func chargeCondition(x *expression, w *limitWrite, viewed bool) string {
	total, newest := x.name(w.letter+attrTotal), x.name(w.letter+attrNewest)
	credit, capacity := x.name(w.letter+attrCredit), x.name(w.letter+attrCapacity)
	slot := x.number(w.letter+"q", w.slot)
	covered := capacity + " = " + x.number(w.letter+"n", w.capacity) + " AND " + credit + " >= " + x.number(w.letter+"c", w.cost)
	switch {
	case w.known:
		return newest + " <= " + slot + " AND (" + total + " <= " + x.number(w.letter+"b", w.ceiling) + " OR (" + covered + "))"
	case viewed: // the limit had never been charged in this life: if it has been since, look again
		return "attribute_not_exists(" + newest + ")"
	}
	return "(attribute_not_exists(" + newest + ") OR (" + newest + " <= " + slot + " AND " + covered + "))"
}

func chargeUpdate(x *expression, w *limitWrite) {
	cost, zero := x.number(w.letter+"c", w.cost), x.number("zero", 0)
	total, credit, capacity := w.letter+attrTotal, w.letter+attrCredit, w.letter+attrCapacity
	slot := slotName(w.letter, w.slot)
	x.set(slot, x.orElse(slot, zero), "+", cost)
	x.set(w.letter+attrNewest, x.number(w.letter+"q", w.slot))
	switch {
	case w.known && w.setCredit:
		x.set(total, x.name(total), "+", cost)
		x.set(credit, x.number(w.letter+"b", w.ceiling), "-", x.name(total))
		x.set(capacity, x.number(w.letter+"n", w.capacity))
	case w.known:
		x.set(total, x.name(total), "+", cost)
		x.set(credit, x.name(credit), "-", cost)
	default:
		x.set(total, x.orElse(total, zero), "+", cost)
		x.set(credit, x.orElse(credit, x.number(w.letter+"n", w.capacity)), "-", cost)
		x.set(capacity, x.orElse(capacity, x.number(w.letter+"n", w.capacity)))
	}
	for _, expired := range w.expired {
		x.remove(slotName(w.letter, expired))
	}
}
