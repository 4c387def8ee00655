package dynamomodel_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

func TestCanonicalNumbers(t *testing.T) {
	zeros := strings.Repeat("0", 125)
	for written, want := range map[string]string{
		"0": "0", "-0": "0", "+0": "0", "0.000": "0", "0e1000": "0", "000": "0",
		"5": "5", "+5": "5", "-5": "-5", "007": "7", "-007": "-7", "5.": "5", ".5": "0.5", "-.5": "-0.5", "0.50": "0.5",
		"1.0": "1",
		"100": "100", "1e2": "100", "1E+2": "100", "12.5e1": "125", "12.5e-3": "0.0125", "1.2300": "1.23",
		"999999999999999999": "999999999999999999", "1000000000000000000": "1000000000000000000",
		"9223372036854775808": "9223372036854775808", "-9223372036854775809": "-9223372036854775809",
		"1e125": "1" + zeros, "-9.9e125": "-99" + zeros[1:], "1e-130": "0." + strings.Repeat("0", 129) + "1",
		strings.Repeat("9", 38): strings.Repeat("9", 38), strings.Repeat("9", 38) + "00": strings.Repeat("9", 38) + "00",
	} {
		table := tableWith(t, nil)
		if err := table.Put(itemKey, attributes{"a": num(written)}); err != nil {
			t.Errorf("%s: %v", written, err)
		} else if got := formatItem(table.Item(itemKey)); got != "a="+want {
			t.Errorf("%s became %s, want %s", written, got, want)
		}
	}
}

func TestInvalidNumbers(t *testing.T) {
	const notNumeric = "The parameter cannot be converted to a numeric value: "
	for written, want := range map[string]string{
		"": notNumeric, "-": notNumeric, ".": notNumeric, "e5": notNumeric, "1e": notNumeric, "1e5e5": notNumeric,
		"1e5.5": notNumeric, "--1": notNumeric, "+-1": notNumeric, "-+1": notNumeric, "1-": notNumeric, " 1": notNumeric,
		"1 ": notNumeric, "1_000": notNumeric, "1.2.3": notNumeric, "0x10": notNumeric, "NaN": notNumeric,
		"Infinity": notNumeric, "dog": notNumeric, "١": notNumeric,
		"1e99999999999999999999": notNumeric,
		"1e126":                  "Number overflow.", "-11e125": "Number overflow.", "1e999999999": "Number overflow.",
		"1e-131": "Number underflow.", "0.9e-130": "Number underflow.", "-1e-999999999": "Number underflow.",
		strings.Repeat("9", 39):                      "Attempting to store more than 38 significant digits in a Number",
		"0.1" + strings.Repeat("2", 38):              "Attempting to store more than 38 significant digits in a Number",
		"1" + strings.Repeat("0", 37) + "1":          "Attempting to store more than 38 significant digits in a Number",
		"314159265358979323846264338327950288419e30": "Attempting to store more than 38 significant digits in a Number",
	} {
		table := tableWith(t, nil)
		err := table.Put(itemKey, attributes{"a": num(written)})
		if !strings.HasPrefix(message(err), want) || len(table.Keys()) != 0 {
			t.Errorf("%q: %v, want %s", written, err, want)
		}
	}
}

// anyNumber draws numbers of up to 38 digits, many of them short, in every
// notation.
func anyNumber(t *rapid.T, label string) string {
	digits := rapid.OneOf(rapid.StringMatching(`-?[0-9]{1,3}`), rapid.StringMatching(`-?[0-9]{17,20}`),
		rapid.StringMatching(`-?[0-9]{1,38}`))
	n := digits.Draw(t, label)
	switch rapid.IntRange(0, 3).Draw(t, label+" form") {
	case 0:
		at := rapid.IntRange(len(n)-len(strings.TrimPrefix(n, "-")), len(n)-1).Draw(t, label+" point")
		return n[:at] + "." + n[at:]
	case 1:
		return n + fmt.Sprintf("e%d", rapid.IntRange(-40, 40).Draw(t, label+" exponent"))
	}
	return n
}

// TestArithmeticIsExact compares sums, differences and comparisons with those
// of big.Rat.
func TestArithmeticIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyNumber(t, "a"), anyNumber(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		table := tableWith(t, attributes{"a": num(a), "b": num(b)})
		checkSum(t, table, "SET #c = #a + #b", new(big.Rat).Add(x, y))
		checkSum(t, table, "SET #c = #a - #b", new(big.Rat).Sub(x, y))
		for operator, want := range map[string]bool{
			"<": x.Cmp(y) < 0, "<=": x.Cmp(y) <= 0, ">": x.Cmp(y) > 0, ">=": x.Cmp(y) >= 0, "=": x.Cmp(y) == 0,
			"<>": x.Cmp(y) != 0,
		} {
			if _, err := update(table, updateInput("#a "+operator+" #b", "SET #d = :1")); (err == nil) != want {
				t.Fatalf("%s %s %s: %v", a, operator, b, err)
			}
		}
	})
}

func checkSum(t *rapid.T, table *dynamomodel.Table, expression string, want *big.Rat) {
	_, err := update(table, updateInput("", expression))
	if digits := significant(want); digits > 38 {
		if !strings.HasPrefix(message(err), "Number overflow") {
			t.Fatalf("%s has %d digits: %v", want.FloatString(80), digits, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got, _ := new(big.Rat).SetString(table.Item(itemKey)["c"].(*types.AttributeValueMemberN).Value)
	if got.Cmp(want) != 0 {
		t.Fatalf("%s is %s, want %s", expression, got.FloatString(80), want.FloatString(80))
	}
}

// significant returns the number of significant digits.
func significant(r *big.Rat) int {
	return len(strings.TrimLeft(strings.Trim(strings.Replace(r.FloatString(80), ".", "", 1), "0-"), "0"))
}

var _ dynamo.API = (*dynamomodel.Table)(nil)

func getInput(key string) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyAttributes(key),
		ConsistentRead: aws.Bool(true)}
}

func TestGetItem(t *testing.T) {
	table := tableWith(t, item("a=1"))
	for key, want := range map[string]string{itemKey: "a=1", "another": "none"} {
		if out, err := table.GetItem(context.Background(), getInput(key)); err != nil || formatItem(out.Item) != want {
			t.Errorf("%s: %+v, %v, want %s", key, out, err, want)
		}
	}
	for name, change := range map[string]func(*dynamodb.GetItemInput){
		"an eventually consistent read": func(in *dynamodb.GetItemInput) { in.ConsistentRead = nil },
		"a projection":                  func(in *dynamodb.GetItemInput) { in.ProjectionExpression = aws.String("#a") },
		"names":                         func(in *dynamodb.GetItemInput) { in.ExpressionAttributeNames = map[string]string{"#a": "a"} },
		"an old projection":             func(in *dynamodb.GetItemInput) { in.AttributesToGet = []string{"a"} },
		"an empty key":                  func(in *dynamodb.GetItemInput) { in.Key = keyAttributes("") },
	} {
		in := getInput(itemKey)
		change(in)
		if _, err := table.GetItem(context.Background(), in); code(err) != "ValidationException" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeleteItem(t *testing.T) {
	table, in := tableWith(t, item("a=1")), dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyAttributes(itemKey)}
	conditional := in
	conditional.ConditionExpression = aws.String("attribute_exists(#k)")
	if _, err := table.DeleteItem(context.Background(), &conditional); code(err) != "ValidationException" || len(table.Keys()) != 1 {
		t.Errorf("a condition: %v, %d items", err, len(table.Keys()))
	}
	for range 2 { // the item need not exist
		if _, err := table.DeleteItem(context.Background(), &in); err != nil || len(table.Keys()) != 0 {
			t.Errorf("%v, %d items", err, len(table.Keys()))
		}
	}
}

func TestSize(t *testing.T) {
	item := map[string]types.AttributeValue{
		"k":  &types.AttributeValueMemberS{Value: "rule"},
		"aC": &types.AttributeValueMemberN{Value: "123"},
		"aL": &types.AttributeValueMemberB{Value: make([]byte, 10)},
	}
	if got := dynamomodel.Size(item); got != 1+4+2+3+2+10 {
		t.Errorf("%d bytes", got)
	}
}

// FuzzExpressions sends two random expressions, with the placeholders that they
// refer to, for an existing item and a missing one. Either the table refuses
// them and changes nothing, or the answer is the new item.
func FuzzExpressions(f *testing.F) {
	for _, test := range invalidExpressions {
		f.Add(test.condition, test.update)
	}
	for _, seed := range [][2]string{
		{"#e = :e AND #h <= :5 AND (#C <= :9 OR (#n = :9 AND #f >= :1))",
			"SET #C = #C + :1, #s = if_not_exists(#s, :0) + :1 REMOVE #b, #c"},
		{"(attribute_not_exists(#h) OR (#h <= :5 AND #n = :9))",
			"REMOVE #a SET #e = if_not_exists(#e, :x), #f = if_not_exists(#f, :9) - :1"},
		{"NOT (#a <> :half) and :minus1 < :max", "set #a = :max - #b, #b = if_not_exists(#a, if_not_exists(#b, :bytes))"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, condition, expression string) {
		for _, initial := range []attributes{nil, item("a=1 b=2.5 c=x d=:list C=99999999999999999999 h=4 n=9 f=3 e=e")} {
			table := tableWith(t, initial)
			answer, err := update(table, updateInput(condition, expression))
			left := formatItem(table.Item(itemKey))
			switch {
			case err != nil && code(err) != "ValidationException" && code(err) != "ConditionalCheckFailedException":
				t.Errorf("an error of another kind: %v", err)
			case err != nil && left != formatItem(initial):
				t.Errorf("refused with %v, and the item became %s", err, left)
			case err == nil && formatItem(answer) != left:
				t.Errorf("answered %s, and the item is %s", formatItem(answer), left)
			case err == nil && strings.Contains(condition, "((") && strings.Contains(condition, "))") &&
				strings.Count(condition, "(") == 2:
				t.Errorf("accepted the redundant parentheses of %q", condition)
			}
		}
	})
}
