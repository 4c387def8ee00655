package dynamo_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// condition and update replace text in a write's expressions.
func condition(old, with string) func(*dynamodb.UpdateItemInput) {
	return func(in *dynamodb.UpdateItemInput) { replace(in.ConditionExpression, old, with) }
}

func update(old, with string) func(*dynamodb.UpdateItemInput) {
	return func(in *dynamodb.UpdateItemInput) { replace(in.UpdateExpression, old, with) }
}

func replace(expression *string, old, with string) {
	*expression = strings.ReplaceAll(*expression, old, with)
}

// withValue adds a number that a changed expression names.
func withValue(name string, n int64, tamper func(*dynamodb.UpdateItemInput)) func(*dynamodb.UpdateItemInput) {
	return func(in *dynamodb.UpdateItemInput) {
		before := *in.ConditionExpression + *in.UpdateExpression
		tamper(in)
		if *in.ConditionExpression+*in.UpdateExpression != before {
			in.ExpressionAttributeValues[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
		}
	}
}

// revive lets a write with a view pass through attribute_not_exists, as a write without one does.
func revive(in *dynamodb.UpdateItemInput) {
	if !strings.Contains(*in.ConditionExpression, "#e = :e") || in.ExpressionAttributeNames["#aC"] == "" {
		return
	}
	*in.ConditionExpression = "attribute_not_exists(#aH) OR (" + *in.ConditionExpression + ")"
	replace(in.UpdateExpression, "#aC = #aC + ", "#e = :e, #aC = if_not_exists(#aC, :zero) + ")
	replace(in.UpdateExpression, ":ab - #aC", ":ab - if_not_exists(#aC, :zero)")
}

// removeTooFar removes the oldest slot that still counts.
func removeTooFar(in *dynamodb.UpdateItemInput) {
	if in.ExpressionAttributeNames["#aC"] == "" {
		return
	}
	in.ExpressionAttributeNames["#last"] = "a" + strconv.FormatInt(number(in, ":aq")-1, 36)
	*in.UpdateExpression += " REMOVE #last"
}

// lowerTotal takes what is given back out of the total too.
func lowerTotal(in *dynamodb.UpdateItemInput) {
	if strings.Contains(*in.UpdateExpression, " - :ar") {
		in.ExpressionAttributeNames["#aC"] = "aC"
		*in.UpdateExpression += ", #aC = #aC - :ar"
	}
}

// TestSafetyTerms runs a trace for each term of the protocol twice: as it is, where no window of two slots may hold more
// than the capacity, and with the term broken on the way to the engine, where the same trace must exceed it. The traces
// are the shortest counterexamples of an exhaustive search over small systems.
func TestSafetyTerms(t *testing.T) {
	tests := map[string]struct {
		capacity int64
		broken   func(*dynamodb.UpdateItemInput)
		trace    func(w *world)
	}{
		"time never runs backwards: h <= :q": {3, condition("#aH <= :aq", "attribute_exists(#aH)"), func(w *world) {
			w.try("A", 0, 2)
			w.try("A", 1, 1)
			w.try("A", 2, 1)
			w.try("late", 0, 1)
		}},
		"a view writes to its own life: e = :e": {1, condition("#e = :e", "(#e = :e OR attribute_exists(#e))"), func(w *world) {
			w.try("A", 0, 1)
			w.reset()
			w.try("B", 2, 1)
			w.try("A", 2, 1)
		}},
		"a view never makes an item": {1, revive, func(w *world) {
			w.try("A", 0, 1)
			w.settle("A", w.last["A"], 0, -1)
			w.reset()
			w.try("A", 0, 1)
			w.try("B", 0, 1)
		}},
		"the ceiling: C <= :B": {2, condition("#aC <= :ab", "attribute_exists(#aC)"), func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"the ceiling, one unit looser": {2, withValue(":loose", 2, condition("#aC <= :ab", "#aC <= :loose")), func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"the credit covers the cost: f >= :c": {2, withValue(":one", 1, condition("#aF >= :ac", "#aF >= :one")), func(w *world) {
			w.try("A", 0, 1)
			w.try("B", 0, 2)
		}},
		"the credit is for one capacity: n = :N": {1, condition("#aN = :an", "attribute_exists(#aN)"), func(w *world) {
			w.limit.Capacity = 3
			w.try("A", 0, 1)
			w.limit.Capacity = 1
			w.try("B", 0, 1)
		}},
		"the credit is reckoned from the total now": {3, withValue(":seen", 1, update(":ab - #aC", ":ab - :seen")), func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"without a view the credit shrinks": {2, update("if_not_exists(#aF, :an) - :ac", "if_not_exists(#aF, :an)"), func(w *world) {
			w.lost("A", 0, 1)
			w.try("B", 0, 2)
		}},
		"without a view the credit only shrinks": {2, update("if_not_exists(#aF, :an) - :ac", ":an - :ac"), func(w *world) {
			w.lost("A", 0, 1)
			w.lost("B", 0, 1)
			w.try("C", 0, 1)
		}},
		"drawing on the credit leaves its capacity": {1, update("#aF = #aF - :ac", "#aF = #aF - :ac, #aN = :an"), func(w *world) {
			w.limit.Capacity = 3
			w.try("A", 0, 1)
			w.limit.Capacity = 1
			w.lost("A", 2, 1)
			w.try("A", 2, 1)
		}},
		"no slot that counts is removed": {3, removeTooFar, func(w *world) {
			w.try("A", 0, 2)
			w.try("A", 1, 1)
			w.try("A", 1, 1)
		}},
		"giving back: in its own life, e = :e": {1, condition("#e = :e", "(#e = :e OR attribute_exists(#e))"), func(w *world) {
			w.try("A", 0, 1)
			w.reset()
			w.try("B", 0, 1)
			w.settle("A", w.last["A"], 0, -1)
			w.try("C", 0, 1)
		}},
		"giving back: the total stays": {3, lowerTotal, func(w *world) {
			w.try("A", 0, 2)
			w.try("B", 0, 0) // looks, and charges nothing
			w.settle("A", w.last["A"], 1, -2)
			w.try("A", 2, 3)
			w.try("B", 2, 1)
		}},
		"charging more lowers the credit": {2, update("if_not_exists(#aF, :an) - :ar", "if_not_exists(#aF, :an)"), func(w *world) {
			w.try("A", 0, 1)
			w.settle("A", w.last["A"], 0, 1)
			w.try("B", 0, 1)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sound := newWorld(t, test.capacity, 1)
			if test.trace(sound); sound.most() > test.capacity {
				t.Errorf("%d units in a window, capacity %d", sound.most(), test.capacity)
			}
			mutant := newWorld(t, test.capacity, 1)
			mutant.tamper = test.broken
			if test.trace(mutant); mutant.most() <= test.capacity {
				t.Errorf("the trace does not catch the broken term: %d units in a window, capacity %d", mutant.most(), test.capacity)
			}
		})
	}
}
