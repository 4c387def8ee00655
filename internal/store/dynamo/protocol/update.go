package protocol

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update collects the parts of one conditional UpdateItem. Every attribute goes
// through a # placeholder, so none can clash with a reserved word.
type Update struct {
	conditions, sets, removals []string
	names                      map[string]string
	values                     Item
}

func newUpdate() *Update {
	return &Update{names: map[string]string{}, values: Item{}}
}

// Request returns the update as a DynamoDB request for a table and a counter. A
// failed condition returns the whole item, which gives the caller a snapshot.
func (u *Update) Request(table, key string) *types.Update {
	return &types.Update{
		TableName:                           &table,
		Key:                                 PrimaryKey(key),
		ConditionExpression:                 new(u.condition()),
		UpdateExpression:                    new(u.assignments()),
		ExpressionAttributeNames:            u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func (u *Update) condition() string { return strings.Join(u.conditions, " AND ") }

func (u *Update) assignments() string {
	var clauses []string
	if len(u.sets) > 0 {
		clauses = append(clauses, "SET "+strings.Join(u.sets, ", "))
	}
	if len(u.removals) > 0 {
		clauses = append(clauses, "REMOVE "+strings.Join(u.removals, ", "))
	}
	return strings.Join(clauses, " ")
}

func (u *Update) name(attribute string) string {
	placeholder := "#" + strings.ReplaceAll(attribute, "-", "_") // a slot before the epoch has a sign
	u.names[placeholder] = attribute
	return placeholder
}

// nameAs is name with a placeholder for an attribute whose name has other
// characters than placeholders may have.
func (u *Update) nameAs(placeholder, attribute string) string {
	u.names["#"+placeholder] = attribute
	return "#" + placeholder
}

func (u *Update) value(name string, value types.AttributeValue) string {
	u.values[":"+name] = value
	return ":" + name
}

func (u *Update) number(name string, n int64) string { return u.value(name, number(n)) }

func (u *Update) generation(id string) string { return u.text("e", id) }

func (u *Update) text(name, s string) string {
	return u.value(name, &types.AttributeValueMemberS{Value: s})
}

func (u *Update) binary(name string, b []byte) string {
	return u.value(name, &types.AttributeValueMemberB{Value: b})
}

func (u *Update) require(condition ...string) {
	u.conditions = append(u.conditions, strings.Join(condition, " "))
}

func (u *Update) set(attribute string, operand ...string) {
	u.sets = append(u.sets, u.name(attribute)+" = "+strings.Join(operand, " "))
}

func (u *Update) remove(attribute string) {
	u.removals = append(u.removals, u.name(attribute))
}

// orElse is an expression for an attribute's value, or for another value if the
// attribute is missing.
func (u *Update) orElse(attribute, otherwise string) string {
	return "if_not_exists(" + u.name(attribute) + ", " + otherwise + ")"
}
