package dynamomodel_test

import (
	"errors"
	"strings"
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
		{"a=5", "#a < :6", true},
		{"a=5", "#a < :5", false},
		{"a=5", "#a <= :5", true},
		{"a=5", "#a > :minus1", true},
		{"a=5", "#a > :5", false},
		{"a=5", ":4 < #a", true},
		{"", ":4 < :5", true},
		{"a=9", "#a < :10", true}, // numbers have no text order
		{"a=-9", "#a > :minus1", false},
		{"a=0.25", "#a < :half", true},
		{"a=1000000000000000000000", "#a > :999999999999999999999", true},
		{"a=5 b=6", "#a < #b", true},

		{"s=b", "#s > :a", true},
		{"b=:bytes", "#b = :bytes", true},
		{"b=:bytes", "#b <= :bytes", true},

		// Types that differ are unequal and have no order.
		{"a=5", "#a = :x", false},
		{"a=5", "#a <> :x", true},
		{"a=5", "#a < :x", false},

		// A missing value is unequal to everything, and neither less nor
		// greater.
		{"", "#a = :5", false},
		{"", "#a <> :5", true},
		{"", "#a < :5", false},
		{"", ":5 > #a", false},
		{"", "#a = #b", false},
		{"", "#a <> #b", true},
		{"", "NOT #a < :5", true},

		{"a=5", "attribute_exists(#a)", true},
		{"a=5", "attribute_exists(#b)", false},
		{"a=5", "attribute_not_exists(#a)", false},
		{"a=5", "attribute_not_exists(#b)", true},

		{"a=5", "#a = :5 AND #a < :6", true},
		{"a=5", "#a = :5 AND #a < :4", false},
		{"a=5", "#a = :6 OR #a < :6", true},
		{"a=5", "#a = :6 OR #a < :4", false},
		{"a=5", "NOT NOT #a = :5", true},
		{"a=5", "not #a = :6 and #a = :5 Or #a = :7", true},
		// AND binds more than OR, NOT more than AND.
		{"a=1", "#a = :1 OR #a = :2 AND #a = :3", true},
		{"a=1", "(#a = :1 OR #a = :2) AND #a = :3", false},
		{"a=1", "NOT #a = :1 AND #a = :2", false},
		{"a=1", "NOT (#a = :1 AND #a = :2)", true},
		// Needless parentheses are allowed, but not two pairs around the same
		// condition.
		{"a=1", "((#a = :1) AND (#a = :1))", true},
		{"a=1", "(#a = :1 AND (#a = :2 OR (#a = :1 AND #a < :2)))", true},
		{"a=1", "#a=:1\tAND\r\n#a<:2", true},

		{"none", "attribute_not_exists(#k)", true},
		{"none", "#a <> :1", true},
		{"none", "attribute_exists(#k)", false},
		{"none", "#a = :1", false},
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

func TestFailedConditionReturnsTheItem(t *testing.T) {
	for mode, want := range map[types.ReturnValuesOnConditionCheckFailure]string{returnOld: "a=1", types.ReturnValuesOnConditionCheckFailureNone: "none", "": "none"} {
		table, in := tableWith(t, item("a=1")), updateInput("#a = :2", "SET #a = :3")
		in.ReturnValuesOnConditionCheckFailure = mode
		_, err := update(table, in)
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			t.Fatalf("got %v", err)
		}
		if got := formatItem(failed.Item); got != want {
			t.Errorf("with %q: item %s, want %s", mode, got, want)
		}
		if failed.Item != nil && failed.Item["k"] == nil {
			t.Error("the item lacks its key")
		}
		if formatItem(table.Item(itemKey)) != "a=1" {
			t.Errorf("a refused write changed the item to %s", formatItem(table.Item(itemKey)))
		}
	}
}

func TestUpdates(t *testing.T) {
	for _, test := range []struct{ item, update, want string }{
		{"", "SET #a = :1", "a=1"},
		{"a=5", "SET #a = :1", "a=1"},
		{"a=5", "SET #a = :x, #b = :2", "a=x b=2"},
		{"a=5", "SET #a = #a + :2", "a=7"},
		{"a=5", "SET #a = :2 - #a", "a=-3"},
		{"a=5 b=7", "SET #c = #b - #a", "a=5 b=7 c=2"},
		{"", "SET #a = if_not_exists(#a, :0) + :2", "a=2"},
		{"a=5", "SET #a = if_not_exists(#a, :0) + :2", "a=7"},
		{"", "SET #a = if_not_exists(#b, if_not_exists(#c, :7))", "a=7"},
		{"a=5", "SET #a = if_not_exists(#a, #missing)", "a=5"},
		{"a=5", "set #a = :1 remove #b", "a=1"},
		{"a=5 b=6", "REMOVE #a, #b, #c", ""},
		{"a=5 b=6", "REMOVE #b SET #a = #b", "a=6"},
		{"a=1 b=2", "SET #a = #b, #b = #a", "a=2 b=1"}, // both read the item before the update
		{"a=1 b=2", "SET #b = #a - :1 REMOVE #a", "b=0"},
		{"a=9223372036854775807", "SET #a = #a + :1", "a=9223372036854775808"},
		{"a=0.1", "SET #a = #a + :half", "a=0.6"},
		{"none", "SET #a = :1 REMOVE #b", "a=1"},
		{"none", "", ""},
		{"none", "REMOVE #a", "none"}, // makes no item
	} {
		table := tableWith(t, item(test.item))
		got, err := update(table, updateInput("", test.update))
		if left := formatItem(table.Item(itemKey)); err != nil || formatItem(got) != test.want || left != test.want {
			t.Errorf("%q of an item %q: answer %s, item %s, %v; want %s", test.update, test.item, formatItem(got), left, err, test.want)
		}
	}
}

// TestRefusedUpdates checks updates that are impossible for their item.
func TestRefusedUpdates(t *testing.T) {
	const (
		missing   = "The provided expression refers to an attribute that does not exist in the item"
		wrongType = "An operand in the update expression has an incorrect data type"
		overflow  = "Number overflow. Attempting to store a number with magnitude larger than supported range"
		tooLarge  = "Item size to update has exceeded the maximum allowed size"
	)
	for _, test := range []struct{ item, update, want string }{
		{"", "SET #a = #b", missing},
		{"", "SET #a = #a + :1", missing},
		{"", "SET #a = :1 - #a", missing},
		{"", "SET #a = if_not_exists(#b, #c)", missing},
		{"a=x", "SET #a = #a + :1", wrongType},
		{"a=x", "SET #b = :1 + #a", wrongType},
		{"", "SET #a = if_not_exists(#a, :x) + :1", wrongType},
		{"", "SET #a = :max + :1, #b = :1 + :1", ""}, // 10^38 has one significant digit
		{"", "SET #a = :max + :2", overflow},
		{"", "SET #a = :max + :half", overflow},
		{"b=1", "SET #b = :2, #a = #c", missing}, // and b stays 1
		{"b=:long", "SET #a = :long", tooLarge},
		{"b=:long", "SET #a = :long REMOVE #b", ""},
	} {
		table := tableWith(t, item(test.item))
		_, err := update(table, updateInput("", test.update))
		if test.want == "" && err != nil || test.want != "" && message(err) != test.want {
			t.Errorf("%q of an item %.30q: %v, want %q", test.update, test.item, err, test.want)
		}
		if err != nil && formatItem(table.Item(itemKey)) != formatItem(item(test.item)) {
			t.Errorf("%q of an item %.30q left %.99s", test.update, test.item, formatItem(table.Item(itemKey)))
		}
	}
}

// TestItemSize grows an item to DynamoDB's largest size in bytes. Names and
// values count, including the key's.
func TestItemSize(t *testing.T) {
	room := 400*1024 - len("k") - len(itemKey) - len("a")
	for _, test := range []struct {
		length int
		want   string
	}{{room, ""}, {room + 1, "ValidationException"}} {
		in := updateInput("", "SET #a = :v")
		in.ExpressionAttributeValues[":v"] = text(strings.Repeat("x", test.length))
		table := tableWith(t, item("b=12345"))
		if _, err := update(table, in); code(err) != "ValidationException" {
			t.Errorf("b has no room beside %d bytes: %v", test.length, err)
		}
		removing := updateInput("", "SET #a = :v REMOVE #b")
		removing.ExpressionAttributeValues = in.ExpressionAttributeValues
		if _, err := update(table, removing); code(err) != test.want {
			t.Errorf("%d bytes: %v, want %q", test.length, err, test.want)
		}
		value := text(strings.Repeat("x", test.length+len(itemKey)-1))
		if err := table.Put("x", attributes{"a": value}); code(err) != test.want {
			t.Errorf("Put of %d bytes: %v, want %q", test.length, err, test.want)
		}
	}
}
