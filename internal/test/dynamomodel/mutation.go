package dynamomodel

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Mutation breaks the DynamoDB protocol on purpose, one term at a time, so that
// tests can prove that each term is needed: the traces of package dynamo on a
// real engine, the exploration of package protocol, and the simulation. It
// changes the expressions and values of a write in place, on its way to the
// table, and leaves alone a write that has no such term. Use Apply, not a call.
//
// Mutations handle the expressions as plain text. The package imports neither
// the protocol nor the store, so a mistake there cannot be repeated here.
type Mutation func(*types.Update)

// Apply changes a write and reports whether the write differs now. It adds and
// drops placeholders as the expressions need them, because DynamoDB refuses a
// placeholder that no expression uses. The nil Mutation changes nothing.
func (m Mutation) Apply(u *types.Update) (changed bool) {
	if m == nil {
		return false
	}
	before, values := text(u), maps.Clone(u.ExpressionAttributeValues)
	m(u)
	if text(u) == before && reflect.DeepEqual(values, u.ExpressionAttributeValues) {
		return false
	}
	used := map[string]bool{}
	for _, name := range placeholder.FindAllString(text(u), -1) {
		used[name] = true
		if name[0] == '#' && u.ExpressionAttributeNames[name] == "" {
			u.ExpressionAttributeNames[name] = name[1:]
		}
	}
	maps.DeleteFunc(u.ExpressionAttributeNames, func(name, _ string) bool { return !used[name] })
	maps.DeleteFunc(u.ExpressionAttributeValues, func(name string, _ types.AttributeValue) bool { return !used[name] })
	if len(u.ExpressionAttributeValues) == 0 { // DynamoDB takes no empty one
		u.ExpressionAttributeValues = nil
	}
	return true
}

// ApplyToItem applies the mutation to a write that is a request of its own.
func (m Mutation) ApplyToItem(in *dynamodb.UpdateItemInput) {
	u := updateOf(in)
	m.Apply(u)
	in.ConditionExpression, in.UpdateExpression = u.ConditionExpression, u.UpdateExpression
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = u.ExpressionAttributeNames, u.ExpressionAttributeValues
}

// Alone returns a write as a request of its own, which returns no item unless
// its condition fails.
func Alone(u *types.Update) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key,
		ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	}
}

// Condition returns a mutation that replaces text of the condition, by pairs of
// old and new. In the text, X stands for the attribute prefix of any limit:
// "#XC" is the total of limit a, of limit b, and so on.
func Condition(pairs ...string) Mutation {
	replace := replacer(pairs)
	return func(u *types.Update) { u.ConditionExpression = replace(u.ConditionExpression) }
}

// Assignment returns a mutation that replaces text of the update, as Condition
// does.
func Assignment(pairs ...string) Mutation {
	replace := replacer(pairs)
	return func(u *types.Update) { u.UpdateExpression = replace(u.UpdateExpression) }
}

// Both returns a mutation that makes the changes of several.
func Both(ms ...Mutation) Mutation {
	return func(u *types.Update) {
		for _, m := range ms {
			m(u)
		}
	}
}

// OfRefunds confines a mutation to settlements that refund units of some limit.
func (m Mutation) OfRefunds() Mutation { return m.where(refund.MatchString) }

// OfExtraCharges confines a mutation to settlements that only charge more.
func (m Mutation) OfExtraCharges() Mutation {
	return m.where(func(s string) bool { return settles(s) && !refund.MatchString(s) })
}

func (m Mutation) where(matches func(update string) bool) Mutation {
	return func(u *types.Update) {
		if matches(*u.UpdateExpression) {
			m(u)
		}
	}
}

// The value :Xr holds the units of a settlement, and occurs in nothing else.
var (
	settled     = regexp.MustCompile(`:[a-h]r\b`)
	refund      = regexp.MustCompile(`(#([a-h])[0-9a-z_]+ = #[a-h][0-9a-z_]+ - :[a-h]r)\b`)
	placeholder = regexp.MustCompile(`[#:]\w+`)
)

func settles(update string) bool { return settled.MatchString(update) }

// WithNumber returns a mutation that sets a value for each limit whose
// expressions name it after m. name contains X, and number computes the value
// from the write and the limit's prefix.
func WithNumber(name string, number func(u *types.Update, prefix string) int64, m Mutation) Mutation {
	return func(u *types.Update) {
		m(u)
		for _, prefix := range prefixes {
			if name := strings.ReplaceAll(name, "X", prefix); uses(u, name) {
				u.ExpressionAttributeValues[name] = Number(number(u, prefix))
			}
		}
	}
}

// Shift returns a mutation that adds to a value that the write names, for each
// limit if its name contains X.
func Shift(name string, by func(u *types.Update, prefix string) int64) Mutation {
	return func(u *types.Update) {
		for _, prefix := range prefixes {
			value := strings.ReplaceAll(name, "X", prefix)
			if uses(u, value) {
				u.ExpressionAttributeValues[value] = Number(ValueOf(u, value) + by(u, prefix))
			}
			if value == name {
				return
			}
		}
	}
}

// Exactly returns n for every limit.
func Exactly(n int64) func(*types.Update, string) int64 {
	return func(*types.Update, string) int64 { return n }
}

// Number returns a number as DynamoDB's attribute value.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// ValueOf returns a number that the write names, such as ":ac"; 0 if it names
// none.
func ValueOf(u *types.Update, name string) int64 { return Units(u.ExpressionAttributeValues[name]) }

// Units returns the number in an attribute value; 0 if it is no number.
func Units(value types.AttributeValue) (units int64) {
	if n, ok := value.(*types.AttributeValueMemberN); ok {
		units, _ = strconv.ParseInt(n.Value, 10, 64)
	}
	return units
}

var prefixes = strings.Split("abcdefgh", "")

func text(u *types.Update) string { return *u.ConditionExpression + " " + *u.UpdateExpression }

// uses reports whether the write's expressions contain a placeholder.
func uses(u *types.Update, name string) bool {
	return slices.Contains(placeholder.FindAllString(text(u), -1), name)
}

// replacer returns a function that replaces text of an expression by pairs of
// old and new. A pair that ends in a placeholder does not match a longer one.
func replacer(pairs []string) func(expression *string) *string {
	var replace []func(string) string
	for pair := range slices.Chunk(pairs, 2) {
		old := strings.Replace(regexp.QuoteMeta(pair[0]), "X", "([a-h])", 1)
		old = strings.ReplaceAll(old, "X", "[a-h]")
		if last := pair[0][len(pair[0])-1]; unicode.IsLetter(rune(last)) {
			old += `\b`
		}
		pattern, replacement := regexp.MustCompile(old), strings.ReplaceAll(pair[1], "X", "${1}")
		replace = append(replace, func(text string) string { return pattern.ReplaceAllString(text, replacement) })
	}
	return func(expression *string) *string {
		text := *expression
		for _, r := range replace {
			text = r(text)
		}
		return &text
	}
}
