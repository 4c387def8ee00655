package dynamomodel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

const (
	wrongCondition = "Invalid ConditionExpression: "
	wrongUpdate    = "Invalid UpdateExpression: "
	notModelled    = "dynamomodel: "
)

// invalidExpressions are expressions that DynamoDB refuses for every item, and
// that the model must refuse too.
var invalidExpressions = []struct{ condition, update, want string }{
	// Redundant parentheses.
	{"((#a = :1))", "", wrongCondition + "The expression has redundant parentheses;"},
	{"( (#a = :1) ) AND #a < :2", "", wrongCondition + "The expression has redundant parentheses;"},
	{"NOT ((#a = :1 AND (#a = :2)))", "", wrongCondition + "The expression has redundant parentheses;"},

	// Empty, or too long.
	{" ", "SET #a = :1", wrongCondition + "The expression can not be empty;"},
	{"", " ", wrongUpdate + "The expression can not be empty;"},
	{"#a = :1" + strings.Repeat(" ", 4090), "",
		wrongCondition + "Expression size has exceeded the maximum allowed size; expression size: 4097"},
	{"", "SET #a = :1" + strings.Repeat(" ", 4086),
		wrongUpdate + "Expression size has exceeded the maximum allowed size; expression size: 4097"},
	{strings.Repeat("#a=:1 OR ", 150) + "#a=:1", "",
		wrongCondition + "The expression contains too many operators; operator count: 301"},
	{"", "SET " + repeat("#a%d=:1+:1", 301),
		wrongUpdate + "The expression contains too many operators; operator count: 301"},

	// Syntax.
	{"#a", "", wrongCondition + `Syntax error; token: "<EOF>", near: "#a"`},
	{"#a = = :1", "", wrongCondition + `Syntax error; token: "=", near: "= = :1"`},
	{"#a >> :1", "", wrongCondition + `Syntax error; token: ">", near: ">> :1"`},
	{"#a = :1 :2", "", wrongCondition + `Syntax error; token: ":2", near: ":1 :2"`},
	{"(#a = :1", "", wrongCondition + `Syntax error; token: "<EOF>", near: ":1"`},
	{"#a = :1)", "", wrongCondition + `Syntax error; token: ")", near: ":1)"`},
	{"()", "", wrongCondition + `Syntax error; token: ")", near: "()"`},
	{"# = :1", "", wrongCondition + `Syntax error; token: "#"`},
	{"#a = :", "", wrongCondition + `Syntax error; token: ":"`},
	{"#a ! :1", "", wrongCondition + `Syntax error; token: "!", near: "#a ! :1"`},
	{"attribute_exists()", "", wrongCondition + `Syntax error; token: ")"`},
	{"", "PUT #a = :1", wrongUpdate + `Syntax error; token: "PUT", near: "PUT #a"`},
	{"", "SET", wrongUpdate + `Syntax error; token: "<EOF>", near: "SET"`},
	{"", "SET :1 = #a", wrongUpdate + `Syntax error; token: ":1", near: "SET :1 ="`},
	{"", "SET #a = if_not_exists(#a)", wrongUpdate},
	{"", "REMOVE :1", wrongUpdate},
	{"", "SET #a = :1 SET #b = :1", wrongUpdate + `The "SET" section can only be used once in an update expression;`},
	{"", "REMOVE #a SET #b = :1 REMOVE #c", wrongUpdate + `The "REMOVE" section can only be used once in an update expression;`},

	// Meaning.
	{"", "SET #a = :1, #a = :2", wrongUpdate + "Two document paths overlap with each other"},
	{"", "SET #a = :1 REMOVE #a", wrongUpdate + "Two document paths overlap"},
	{"", "SET #k = :x", "One or more parameter values were invalid: Cannot update attribute k. This attribute is part of the key"},
	{"", "REMOVE #k", "One or more parameter values were invalid: Cannot update attribute k. This attribute is part of the key"},
	{"", "SET #a = :x + :1", wrongUpdate + "Incorrect operand type for operator or function; operator or function: +, operand type: S"},
	{"#z = :9", "SET #a = :x + :1", wrongUpdate + "Incorrect operand type"}, // though the condition fails too
	{"", "SET #a = if_not_exists(:1, :2)", wrongUpdate + "Operator or function requires a document path; operator or function: if_not_exists"},
	{"", "SET #a = attribute_exists(#a)", wrongUpdate + "Syntax error"},
	{"attribute_exists(:1)", "", wrongCondition + "Operator or function requires a document path; operator or function: attribute_exists"},
	{"if_not_exists(#a, :1)", "", wrongCondition + "Syntax error"},
	{"ATTRIBUTE_EXISTS(#a)", "", wrongCondition + "Syntax error"},
	{"#a = #a", "", wrongCondition + "The first operand must be distinct from the remaining operands"},

	// Values.
	{"#a = :nan", "", "The parameter cannot be converted to a numeric value: NaN"},

	// The model lacks these parts of DynamoDB, and refuses them.
	{"", "ADD #a :1", wrongUpdate + "Syntax error"},
	{"", "SET a = :1", wrongUpdate + "Syntax error"},
	{"a = :1", "", wrongCondition + "Syntax error"},
	{"#a BETWEEN :1 AND :2", "", wrongCondition + "Syntax error"},
	{"size(#a) > :1", "", wrongCondition + "Syntax error"},
	{"", "SET #a = :1 + :2 + :3", wrongUpdate + "Syntax error"},
	{"", "SET #a.#b = :1", wrongUpdate + "Syntax error"},
	{"(#a) = (:1)", "", wrongCondition + "Syntax error"},
}

// repeat formats n numbered actions.
func repeat(action string, n int) string {
	actions := make([]string, n)
	for i := range actions {
		actions[i] = fmt.Sprintf(action, i)
	}
	return strings.Join(actions, ",")
}

func TestInvalidExpressions(t *testing.T) {
	for _, test := range invalidExpressions {
		for _, initial := range []attributes{nil, item("a=1"), item("a=x b=:bytes")} {
			table := tableWith(t, initial)
			_, err := update(table, updateInput(test.condition, test.update))
			if code(err) != "ValidationException" || !strings.HasPrefix(message(err), test.want) {
				t.Errorf("condition %.60q, update %.60q: %v; want %s", test.condition, test.update, err, test.want)
			}
			if formatItem(table.Item(itemKey)) != formatItem(initial) {
				t.Errorf("condition %.60q, update %.60q changed the item", test.condition, test.update)
			}
		}
	}
}

// refusedByEngine are the reasons for which a local engine refuses an
// expression too. MiniStack 1.5.33 is laxer than DynamoDB about syntax, operand
// types, overlapping paths, functions in the wrong place, operands that are not
// distinct and the number of operators.
var refusedByEngine = []string{
	"redundant parentheses", "can not be empty", "Expression size", "part of the key", "numeric value",
}

func TestEngineRefusesInvalidExpressions(t *testing.T) {
	client := dynamotest.Connect(t)
	table := dynamotest.Counters(t, client)
	for _, reason := range refusedByEngine {
		compared := 0
		for _, test := range invalidExpressions {
			if !strings.Contains(test.want, reason) {
				continue
			}
			in := updateInput(test.condition, test.update)
			in.TableName = &table
			if _, err := update(client, in); code(err) != "ValidationException" {
				t.Errorf("the engine accepted condition %.60q, update %.60q: %v", test.condition, test.update, err)
			}
			compared++
		}
		if compared == 0 {
			t.Errorf("no expression is refused for %q", reason)
		}
	}
}

func TestInvalidRequests(t *testing.T) {
	const noMatch = "The provided key element does not match the schema"
	type input = *dynamodb.UpdateItemInput
	for _, test := range []struct {
		want   string
		change func(input)
	}{
		{"Value provided in ExpressionAttributeValues unused in expressions: keys: {:2}", func(in input) { in.ExpressionAttributeValues[":2"] = num("2") }},
		{"Value provided in ExpressionAttributeNames unused in expressions: keys: {#x, #y}", func(in input) {
			in.ExpressionAttributeNames["#y"], in.ExpressionAttributeNames["#x"] = "y", "x"
		}},
		{"Value provided in ExpressionAttributeNames unused", func(in input) { in.ExpressionAttributeNames["#"] = "y" }}, // only begins like a used one
		{wrongUpdate + "An expression attribute name used in the document path is not defined; attribute name: #z", func(in input) {
			in.UpdateExpression = aws.String("SET #z = :1, #a = :1")
		}},
		{wrongCondition + "An expression attribute value used in expression is not defined; attribute value: :2", func(in input) {
			in.ConditionExpression = aws.String("#a = :2")
		}},
		{wrongUpdate + "Empty attribute name", func(in input) { in.ExpressionAttributeNames["#a"] = "" }},
		{wrongUpdate + "Two document paths overlap", func(in input) {
			in.UpdateExpression, in.ExpressionAttributeNames["#z"] = aws.String("SET #a = :1, #z = :1"), "a"
		}},
		{"Supplied AttributeValue is empty, must contain exactly one of the supported datatypes", func(in input) { in.ExpressionAttributeValues[":1"] = nil }},
		{"ExpressionAttributeNames must not be empty", func(in input) { in.ExpressionAttributeNames = map[string]string{} }},
		{"ExpressionAttributeValues must not be empty", func(in input) { in.ExpressionAttributeValues = attributes{} }},
		{"ExpressionAttributeValues can only be specified when using expressions", func(in input) {
			in.UpdateExpression, in.ExpressionAttributeNames = nil, nil
		}},
		{"ExpressionAttributeNames can only be specified when using expressions", func(in input) {
			in.UpdateExpression, in.ExpressionAttributeValues = nil, nil
		}},
		{wrongCondition + "The expression can not be empty;", func(in input) { in.ConditionExpression = aws.String("") }},
		{"Value null at 'tableName'", func(in input) { in.TableName = nil }},
		{noMatch, func(in input) { in.Key = nil }},
		{noMatch, func(in input) { in.Key = item("p=x") }},
		{noMatch, func(in input) { in.Key = item("k=x p=x") }},
		{noMatch, func(in input) { in.Key = item("k=1") }},
		{"One or more parameter values are not valid.", func(in input) { in.Key = keyAttributes("") }},
		{"One or more parameter values were invalid: Size of hashkey has exceeded", func(in input) { in.Key = keyAttributes(strings.Repeat("x", 2049)) }},
		{notModelled, func(in input) { in.ReturnValues = types.ReturnValueUpdatedNew }},
		{notModelled, func(in input) { in.ExpressionAttributeValues[":1"] = &types.AttributeValueMemberL{} }},
		{"Value 'ALL_NEW' at 'returnValuesOnConditionCheckFailure'", func(in input) { in.ReturnValuesOnConditionCheckFailure = "ALL_NEW" }},
		{notModelled + "AttributeUpdates", func(in input) { in.AttributeUpdates = map[string]types.AttributeValueUpdate{} }},
		{notModelled + "Expected", func(in input) { in.Expected = map[string]types.ExpectedAttributeValue{} }},
		{notModelled, func(in input) { in.ConditionalOperator = types.ConditionalOperatorAnd }},
		{notModelled + "ReturnItemCollectionMetrics", func(in input) { in.ReturnItemCollectionMetrics = types.ReturnItemCollectionMetricsSize }},
	} {
		table, in := tableWith(t, item("a=0")), updateInput("", "SET #a = :1")
		test.change(in)
		_, err := update(table, in)
		if code(err) != "ValidationException" || !strings.HasPrefix(message(err), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
		if len(table.Keys()) != 1 || formatItem(table.Item(itemKey)) != "a=0" {
			t.Errorf("a request refused by %q changed something", test.want)
		}
	}
}

// TestRequestsAtTheLimits sends the largest requests that DynamoDB accepts.
func TestRequestsAtTheLimits(t *testing.T) {
	for name, in := range map[string]*dynamodb.UpdateItemInput{
		"4 KB of condition": updateInput("#a <> :1"+strings.Repeat(" ", 4096-8), ""),
		"4 KB of update":    updateInput("", "SET #a = :1"+strings.Repeat(" ", 4096-11)),
		"299 operators":     updateInput(strings.Repeat("#a<>:1 OR ", 149)+"#a<>:1", ""),
		"300 operators":     updateInput("", "SET "+repeat("#a%d=:1+:1", 300)),
	} {
		if _, err := update(tableWith(t, nil), in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
