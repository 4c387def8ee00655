package dynamomodel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

const returnOld = types.ReturnValuesOnConditionCheckFailureAllOld

// updateOf returns an update with a condition, which may be empty.
func updateOf(key, condition, update string) types.TransactWriteItem {
	u := updateInput(condition, update)
	return types.TransactWriteItem{Update: &types.Update{
		TableName: u.TableName, Key: keyAttributes(key), ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: returnOld,
	}}
}

func transact(table *dynamomodel.Table, members ...types.TransactWriteItem) error {
	_, err := table.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: members})
	return err
}

// abc returns a table of items a, b and c whose attribute n is 1, 2 and 3.
func abc(t *testing.T) *dynamomodel.Table {
	table := dynamomodel.New(tableName, "k")
	for i, key := range []string{"a", "b", "c"} {
		if err := table.Put(key, item(fmt.Sprintf("n=%d", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// contents formats every item.
func contents(table *dynamomodel.Table) string {
	var items []string
	for _, key := range table.Keys() {
		items = append(items, key+": "+formatItem(table.Item(key)))
	}
	return strings.Join(items, ", ")
}

func TestTransactions(t *testing.T) {
	const before = "a: n=1, b: n=2, c: n=3"
	for name, test := range map[string]struct {
		members []types.TransactWriteItem
		codes   string // empty for success
		after   string
	}{
		"two": {
			[]types.TransactWriteItem{
				updateOf("a", "#n = :1", "SET #n = #n + :1"), updateOf("d", "attribute_not_exists(#k)", "SET #n = :4"),
			}, "", "a: n=2, b: n=2, c: n=3, d: n=4",
		},
		"without conditions": {
			[]types.TransactWriteItem{updateOf("a", "", "REMOVE #n"), updateOf("c", "", "SET #m = :1")}, "", "a: , b: n=2, c: m=1 n=3",
		},
		"removal from no item": {[]types.TransactWriteItem{updateOf("z", "", "REMOVE #n")}, "", before},
		"last one fails": {
			[]types.TransactWriteItem{updateOf("a", "", "SET #n = :9"), updateOf("c", "#n = :4", "SET #n = :9")},
			"None, ConditionalCheckFailed", before,
		},
		"two fail": {
			[]types.TransactWriteItem{
				updateOf("a", "#n = :2", "SET #n = :9"), updateOf("b", "#n = :2", "SET #n = :9"), updateOf("z", "#n = :2", "SET #n = :9"),
			}, "ConditionalCheckFailed, None, ConditionalCheckFailed", before,
		},
		"impossible update": {
			[]types.TransactWriteItem{updateOf("b", "", "SET #n = :9"), updateOf("a", "", "SET #n = #missing")}, "None, ValidationError", before,
		},
		"condition before update": {
			[]types.TransactWriteItem{updateOf("a", "#n = :2", "SET #n = #missing")}, "ConditionalCheckFailed", before,
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := abc(t)
			err := transact(table, test.members...)
			if got := codes(t, err); got != test.codes {
				t.Errorf("reasons %q, want %q", got, test.codes)
			}
			if got := contents(table); got != test.after {
				t.Errorf("table %s, want %s", got, test.after)
			}
		})
	}
}

func codes(t *testing.T, err error) string {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		if err != nil {
			t.Fatal(err)
		}
		return ""
	}
	var all []string
	for _, reason := range canceled.CancellationReasons {
		all = append(all, *reason.Code)
	}
	if joined := strings.Join(all, ", "); !strings.HasSuffix(canceled.ErrorMessage(), "["+joined+"]") {
		t.Errorf("message %q does not name the reasons", canceled.ErrorMessage())
	}
	return strings.Join(all, ", ")
}

func TestReasonsReturnItems(t *testing.T) {
	table := abc(t)
	withoutItem := updateOf("b", "#n = :9", "SET #n = :1")
	withoutItem.Update.ReturnValuesOnConditionCheckFailure = ""
	refused := func(key string) types.TransactWriteItem { return updateOf(key, "#n = :9", "SET #n = :1") }
	err := transact(table, refused("a"), withoutItem, refused("c"), refused("none"), updateOf("d", "#n <> :9", "SET #n = :1"))
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) || len(canceled.CancellationReasons) != 5 {
		t.Fatalf("got %v", err)
	}
	for i, want := range []string{"n=1", "none", "n=3", "none", "none"} {
		reason := canceled.CancellationReasons[i]
		if got := formatItem(reason.Item); got != want {
			t.Errorf("reason %d: item %s, want %s", i, got, want)
		}
		if text := aws.ToString(reason.Message); (text != "") != (i < 4) {
			t.Errorf("reason %d: message %q", i, text)
		}
	}
	if got := contents(table); got != "a: n=1, b: n=2, c: n=3" {
		t.Errorf("table %s", got)
	}
}

func TestInvalidTransactions(t *testing.T) {
	many := func(n int) (members []types.TransactWriteItem) {
		for i := range n {
			members = append(members, updateOf(fmt.Sprint("key ", i), "", "SET #n = :1"))
		}
		return members
	}
	other := updateOf("a", "", "SET #n = :1")
	other.Update.TableName = aws.String("another")
	const one = "TransactItems can only contain one of Check, Put, Update or Delete"
	for name, test := range map[string]struct {
		members []types.TransactWriteItem
		want    string
	}{
		"none": {nil, "Value at 'transactItems' failed to satisfy constraint"},
		"101":  {many(101), "Value at 'transactItems' failed to satisfy constraint"},
		"two on one item": {
			[]types.TransactWriteItem{updateOf("a", "", "SET #n = :1"), updateOf("a", "#n = :1", "SET #n = :2")},
			"Transaction request cannot include multiple operations on one item",
		},
		"member of nothing": {make([]types.TransactWriteItem, 1), one},
		"a deletion":        {[]types.TransactWriteItem{{Delete: &types.Delete{}}}, notModelled},
		"no update":         {[]types.TransactWriteItem{updateOf("a", "#n = :1", "")}, "The update expression is missing"},
		"wrong expression": {
			[]types.TransactWriteItem{updateOf("b", "", "SET #n = :1"), updateOf("a", "((#n = :1))", "SET #n = :2")},
			wrongCondition + "The expression has redundant parentheses;",
		},
		"empty key":     {[]types.TransactWriteItem{updateOf("", "", "SET #n = :1")}, "One or more parameter values are not valid."},
		"another table": {[]types.TransactWriteItem{updateOf("b", "", "SET #n = :1"), other}, "Requested resource not found"},
	} {
		t.Run(name, func(t *testing.T) {
			table := abc(t)
			if err := transact(table, test.members...); !strings.HasPrefix(message(err), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if got := contents(table); got != "a: n=1, b: n=2, c: n=3" {
				t.Errorf("table %s", got)
			}
		})
	}
	if err := transact(abc(t), many(100)...); err != nil {
		t.Errorf("100 writes: %v", err)
	}
}
