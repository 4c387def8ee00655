package dynamomodel_test

import (
	"strings"
	"testing"
)

// FuzzExpressions sends two random expressions, with the placeholders that they
// refer to, for an existing item and a missing one. Either the table refuses
// them and changes nothing, or the answer is the new item.
func FuzzExpressions(f *testing.F) {
	for _, test := range invalidExpressions {
		f.Add(test.condition, test.update)
	}
	for _, seed := range [][2]string{
		{"#e = :e AND #h <= :5 AND (#C <= :9 OR (#n = :9 AND #f >= :1))", "SET #C = #C + :1, #s = if_not_exists(#s, :0) + :1 REMOVE #b, #c"},
		{"(attribute_not_exists(#h) OR (#h <= :5 AND #n = :9))", "REMOVE #a SET #e = if_not_exists(#e, :x), #f = if_not_exists(#f, :9) - :1"},
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
			case err == nil && strings.Contains(condition, "((") && strings.Contains(condition, "))") && strings.Count(condition, "(") == 2:
				t.Errorf("accepted the redundant parentheses of %q", condition)
			}
		}
	})
}
