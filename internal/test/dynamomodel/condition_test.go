package dynamomodel_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestConditions(t *testing.T) {
	for _, test := range []struct {
		item, condition string
		holds           bool
	}{
		{"a=5", "#a = :5", true},
		{"a=5", "#a = :6", false},
		{"a=5", "#a <> :6", true},
		{"a=5", "#a < :6", true},
		{"a=5", "#a < :5", false},
		{"a=5", "#a <= :5", true},
		{"a=5", "#a > :minus1", true},
		{"a=5", "#a > :5", false},
		{"a=5", "#a >= :5", true},
		{"a=5", ":5 = #a", true},
		{"a=5", ":4 < #a", true},
		{"", ":4 < :5", true},
		{"", ":4 = :4", true},
		{"a=9", "#a < :10", true}, // numbers have no text order
		{"a=-9", "#a > :minus1", false},
		{"a=0.25", "#a < :half", true},
		{"a=1000000000000000000000", "#a > :999999999999999999999", true},
		{"a=9223372036854775807", "#a < :9223372036854775808", true},
		{"a=5 b=6", "#a < #b", true},
		{"a=5 b=5", "#a = #b", true},

		{"s=b", "#s > :a", true},
		{"s=b", "#s < :a", false},
		{"s=b", "#s = :b", true},
		{"b=:bytes", "#b = :bytes", true},
		{"b=:bytes", "#b <= :bytes", true},

		// Types that differ are unequal and have no order.
		{"a=5", "#a = :x", false},
		{"a=5", "#a <> :x", true},
		{"a=5", "#a < :x", false},
		{"a=5", "#a >= :x", false},

		// A missing value is unequal to everything, and neither less nor
		// greater.
		{"", "#a = :5", false},
		{"", "#a <> :5", true},
		{"", "#a < :5", false},
		{"", "#a >= :5", false},
		{"", ":5 > #a", false},
		{"", "#a = #b", false},
		{"", "#a <> #b", true},
		{"", "NOT #a < :5", true},

		{"a=5", "attribute_exists(#a)", true},
		{"a=5", "attribute_exists(#b)", false},
		{"a=5", "attribute_not_exists(#a)", false},
		{"a=5", "attribute_not_exists(#b)", true},
		{"a=5", "attribute_exists(#k)", true},

		{"a=5", "#a = :5 AND #a < :6", true},
		{"a=5", "#a = :5 AND #a < :4", false},
		{"a=5", "#a = :6 OR #a < :6", true},
		{"a=5", "#a = :6 OR #a < :4", false},
		{"a=5", "NOT #a = :6", true},
		{"a=5", "NOT NOT #a = :5", true},
		{"a=5", "not #a = :6 and #a = :5 Or #a = :7", true},
		// AND binds more than OR, NOT more than AND.
		{"a=1", "#a = :1 OR #a = :2 AND #a = :3", true},
		{"a=1", "(#a = :1 OR #a = :2) AND #a = :3", false},
		{"a=1", "NOT #a = :1 AND #a = :2", false},
		{"a=1", "NOT (#a = :1 AND #a = :2)", true},
		// Needless parentheses are allowed, but not two pairs around the same
		// condition.
		{"a=1", "(#a = :1)", true},
		{"a=1", "((#a = :1) AND (#a = :1))", true},
		{"a=1", "((#a = :1 OR #a = :2) AND #a = :1)", true},
		{"a=1", "(#a = :1 AND (#a = :2 OR (#a = :1 AND #a < :2)))", true},
		{"a=1", "(NOT (#a = :2))", true},
		{"a=1", "#a=:1\tAND\r\n#a<:2", true},
	} {
		table := tableWith(t, item(test.item))
		_, err := update(table, updateInput(test.condition, "SET #z = :1"))
		want := "ConditionalCheckFailedException"
		if test.holds {
			want = ""
		}
		if code(err) != want {
			t.Errorf("%q of an item %q: %v, want holds: %v", test.condition, test.item, err, test.holds)
		}
	}
}

func TestConditionsOfNoItem(t *testing.T) {
	for condition, want := range map[string]string{
		"attribute_not_exists(#k)": "",
		"#a <> :1":                 "",
		"attribute_exists(#k)":     "ConditionalCheckFailedException",
		"#a = :1":                  "ConditionalCheckFailedException",
	} {
		if _, err := update(tableWith(t, nil), updateInput(condition, "SET #z = :1")); code(err) != want {
			t.Errorf("%s of no item: %v, want %q", condition, err, want)
		}
	}
}

func TestFailedConditionReturnsTheItem(t *testing.T) {
	for _, test := range []struct {
		item attributes
		mode types.ReturnValuesOnConditionCheckFailure
		want string
	}{
		{item("a=1"), types.ReturnValuesOnConditionCheckFailureAllOld, "a=1"},
		{item("a=1"), types.ReturnValuesOnConditionCheckFailureNone, "none"},
		{item("a=1"), "", "none"},
		{nil, types.ReturnValuesOnConditionCheckFailureAllOld, "none"},
	} {
		table := tableWith(t, test.item)
		in := updateInput("#a = :2", "SET #a = :3")
		in.ReturnValuesOnConditionCheckFailure = test.mode
		_, err := update(table, in)
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			t.Fatalf("got %v", err)
		}
		if got := formatItem(failed.Item); got != test.want {
			t.Errorf("with %q: item %s, want %s", test.mode, got, test.want)
		}
		if failed.Item != nil && failed.Item["k"] == nil {
			t.Error("the item lacks its key")
		}
		if formatItem(table.Item(itemKey)) != formatItem(test.item) {
			t.Errorf("a refused write changed the item to %s", formatItem(table.Item(itemKey)))
		}
	}
}
