package protocoltest

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write is a charge of two limits as the protocol formats it.
func write(condition, update string, values map[string]int64) *types.Update {
	u := &types.Update{
		ConditionExpression: &condition, UpdateExpression: &update,
		ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: map[string]types.AttributeValue{},
	}
	for name, n := range values {
		u.ExpressionAttributeValues[name] = Number(n)
	}
	for _, name := range placeholder.FindAllString(text(u), -1) {
		if name[0] == '#' {
			u.ExpressionAttributeNames[name] = name[1:]
		}
	}
	return u
}

func charge() *types.Update {
	return write("#e = :e AND #aC <= :ab AND #bC <= :bb", "SET #aC = #aC + :ac, #bC = #bC + :bc",
		map[string]int64{":e": 0, ":ab": 5, ":bb": 7, ":ac": 1, ":bc": 2})
}

// TestApply checks the texts and the placeholders that a mutation leaves.
func TestApply(t *testing.T) {
	for name, test := range map[string]struct {
		mutation   Mutation
		of         *types.Update
		condition  string
		update     string
		dropped    string // a value that no expression uses any more
		added      string // one that the mutation needs
		addedValue int64
	}{
		"every limit's term": {AnyTotal, charge(),
			"#e = :e AND attribute_exists(#aC) AND attribute_exists(#bC)", "SET #aC = #aC + :ac, #bC = #bC + :bc", ":ab", "", 0},
		"a value for each limit": {OneUnitTooMany, charge(),
			"#e = :e AND #aC <= :alooser AND #bC <= :blooser", "SET #aC = #aC + :ac, #bC = #bC + :bc", ":bb", ":blooser", 8},
		"another attribute": {LowerTotal, write("#e = :e AND #b1 >= :br", "SET #b1 = #b1 - :br", map[string]int64{":e": 0, ":br": 3}),
			"#e = :e AND #b1 >= :br", "SET #b1 = #b1 - :br, #bC = #bC - :br", "", "", 0},
		"a value shifted": {Shift(":Xb", Exactly(2)), charge(), *charge().ConditionExpression, *charge().UpdateExpression, "", ":bb", 9},
		"a removal":       {Remove("a-1"), charge(), *charge().ConditionExpression, *charge().UpdateExpression + " REMOVE #a_1", "", "", 0},
	} {
		if !test.mutation.Apply(test.of) {
			t.Errorf("%s: changes nothing", name)
		}
		if *test.of.ConditionExpression != test.condition || *test.of.UpdateExpression != test.update {
			t.Errorf("%s: %q and %q", name, *test.of.ConditionExpression, *test.of.UpdateExpression)
		}
		if test.of.ExpressionAttributeValues[test.dropped] != nil {
			t.Errorf("%s: %s is still there", name, test.dropped)
		}
		if got := ValueOf(test.of, test.added); got != test.addedValue {
			t.Errorf("%s: %s is %d, want %d", name, test.added, got, test.addedValue)
		}
		used := placeholder.FindAllString(text(test.of), -1)
		for placeholder := range maps.Keys(test.of.ExpressionAttributeNames) {
			if !slices.Contains(used, placeholder) {
				t.Errorf("%s: %s is not used", name, placeholder)
			}
		}
		for _, placeholder := range used {
			if placeholder[0] == '#' && test.of.ExpressionAttributeNames[placeholder] == "" {
				t.Errorf("%s: %s names no attribute", name, placeholder)
			}
		}
	}
}

// TestApplyToOthers checks that Apply does not change writes without the term,
// and reports so.
func TestApplyToOthers(t *testing.T) {
	refunds := write("#e = :e AND #a1 >= :ar", "SET #a1 = #a1 - :ar", map[string]int64{":e": 0, ":ar": 3})
	extra := write("#e = :e", "SET #aC = #aC + :ar", map[string]int64{":e": 0, ":ar": 3})
	for name, test := range map[string]struct {
		mutation Mutation
		of       *types.Update
		want     bool
	}{
		"none":                           {nil, charge(), false},
		"a term that is not there":       {AnyCredit, charge(), false},
		"charges only, a charge":         {AnyGeneration.OfCharges(), charge(), true},
		"charges only, a refund":         {AnyGeneration.OfCharges(), refunds, false},
		"settlements only, a charge":     {AnyGeneration.OfSettlements(), charge(), false},
		"refunds only, an extra charge":  {AnyGeneration.OfRefunds(), extra, false},
		"extra charges only, a refund":   {AnyGeneration.OfExtraCharges(), refunds, false},
		"extra charges only, one":        {AnyGeneration.OfExtraCharges(), extra, true},
		"refunds only, a refund":         {AnyGeneration.OfRefunds(), refunds, true},
		"a longer placeholder is others": {Condition("#XC <= :X", "true"), charge(), false},
	} {
		if got := test.mutation.Apply(test.of); got != test.want {
			t.Errorf("%s: changed %v, want %v", name, got, test.want)
		}
	}
}

// TestApplyToTransaction changes each write of a transaction.
func TestApplyToTransaction(t *testing.T) {
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: charge()}, {}, {Update: charge()}}}
	if !AnyTotal.ApplyToTransaction(in) || AnyTotal.ApplyToTransaction(in) {
		t.Error("want a change the first time alone")
	}
	if *in.TransactItems[0].Update.ConditionExpression != *in.TransactItems[2].Update.ConditionExpression {
		t.Error("the writes differ")
	}
}
