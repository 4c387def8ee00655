package dynamo_test

import (
	"context"
	"errors"
	"flag"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	dm "github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestSafetyTerms runs a trace for each term of the protocol twice. With the
// protocol as it is, no window of two slots may exceed the capacity. With the
// term broken on the way to the engine, the same trace must exceed it. The
// traces are the shortest counterexamples that the exploration of small systems
// finds.
func TestSafetyTerms(t *testing.T) {
	tests := map[string]struct {
		capacity int64
		broken   dm.Mutation
		trace    func(w *world)
	}{
		"time never runs backwards: h <= :q": {3, dm.AnyOrder, func(w *world) {
			w.try("A", 0, 2)
			w.try("A", 1, 1)
			w.try("A", 2, 1)
			w.try("late", 0, 1)
		}},
		"a snapshot writes to its own generation: e = :e": {1, dm.AnyGeneration, func(w *world) {
			w.try("A", 0, 1)
			w.reset()
			w.try("B", 2, 1)
			w.try("A", 2, 1)
		}},
		"a snapshot never creates an item": {1, dm.CreateFromSnapshot, func(w *world) {
			w.try("A", 0, 1)
			w.settle("A", w.last["A"], 0, -1)
			w.reset()
			w.try("A", 1, 1)
			w.try("B", 1, 1)
		}},
		"the ceiling: C <= :B": {2, dm.AnyTotal, func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"the ceiling, one unit looser": {2, dm.OneUnitTooMany, func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"the credit covers the cost: f >= :c": {2, dm.CreditOfOne, func(w *world) {
			w.try("A", 0, 1)
			w.try("B", 0, 2)
		}},
		"the credit is for one capacity: n = :N": {1, dm.AnyCapacity, func(w *world) {
			w.limit.Capacity = 3
			w.try("A", 0, 1)
			w.limit.Capacity = 1
			w.try("B", 0, 1)
		}},
		"the credit is computed from the total now": {3, dm.CreditOfEmptyWindow, func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 1, 1)
			w.try("B", 1, 1)
		}},
		"without a snapshot the credit shrinks": {2, dm.FreeColdCharge, func(w *world) {
			w.lost("A", 0, 1)
			w.try("B", 0, 2)
		}},
		"without a snapshot the credit only shrinks": {2, dm.FullCreditWhenCold, func(w *world) {
			w.lost("A", 0, 1)
			w.lost("B", 0, 1)
			w.try("C", 0, 1)
		}},
		"drawing on the credit leaves its capacity": {1, dm.CapacityOfIdleCharge, func(w *world) {
			w.limit.Capacity = 3
			w.try("A", 0, 1)
			w.limit.Capacity = 1
			w.lost("A", 2, 1)
			w.try("A", 2, 1)
		}},
		"in a slot that the snapshot shows, the credit shrinks": {2, dm.FreeIdleCharge.InKnownSlots(), func(w *world) {
			w.try("A", 0, 1)
			w.try("A", 0, 1)
			w.try("B", 0, 1)
		}},
		"in a slot that the snapshot shows, the ceiling": {2, dm.AnyTotal.InKnownSlots(), func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"no slot that counts is removed": {3, dm.RemovePrevious, func(w *world) {
			w.try("A", 0, 2)
			w.try("A", 1, 1)
			w.try("A", 1, 1)
		}},
		"refund: in its own generation, e = :e": {1, dm.AnyGeneration, func(w *world) {
			w.try("A", 0, 1)
			w.reset()
			w.try("B", 0, 1)
			w.settle("A", w.last["A"], 0, -1)
			w.try("C", 0, 1)
		}},
		"refund: the total stays": {3, dm.LowerTotal, func(w *world) {
			w.try("A", 0, 2)
			w.try("B", 0, 0) // zero cost: reads the item
			w.settle("A", w.last["A"], 1, -2)
			w.try("A", 2, 3)
			w.try("B", 2, 1)
		}},
		"charging more lowers the credit": {2, dm.FreeExtraCharge, func(w *world) {
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
			mutant.mutate = test.broken
			if test.trace(mutant); mutant.most() <= test.capacity {
				t.Errorf("the trace does not detect the broken term: %d units in a window, capacity %d", mutant.most(), test.capacity)
			}
		})
	}
}

// epoch is slot 0 of every trace: a whole minute.
var epoch = time.Unix(1_700_000_040, 0)

const key = "rule|user:1|00000000"

var errLost = errors.New("the answer is lost")

// wire is between a store and the engine: it may change a write, or lose its
// answer. It keeps the exact log of what the engine accepted, whatever the
// store concludes.
type wire struct {
	dynamotest.Double
	mutation dynamomodel.Mutation
	took     func(slot, units int64)
	lose     bool

	mu   sync.Mutex
	sent []*dynamodb.UpdateItemInput
}

func (w *wire) update(
	_ context.Context, in *dynamodb.UpdateItemInput, send func() (*dynamodb.UpdateItemOutput, error),
) (*dynamodb.UpdateItemOutput, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, in)
	slot, cost := dynamomodel.Units(in.ExpressionAttributeValues[":aq"]), dynamomodel.Units(in.ExpressionAttributeValues[":ac"])
	w.mutation.ApplyToItem(in)
	out, err := send()
	if err == nil {
		w.took(slot, cost)
	}
	if w.lose {
		w.lose = false
		return nil, errLost
	}
	return out, err
}

// onModel runs the tests on the model of DynamoDB instead of an engine. They
// then test the protocol, not the meaning of its expressions in DynamoDB.
// Mutation runs use it.
var onModel = flag.Bool("model", false, "run on the model of DynamoDB instead of a real engine")

// newTable returns an engine and an empty table of counters in it.
func newTable(t *testing.T) (dynamo.API, string) {
	t.Helper()
	if *onModel {
		return dynamomodel.New("counters", "k"), "counters"
	}
	client := dynamotest.Connect(t)
	return client, dynamotest.Counters(t, client)
}

// world has one counter in a real engine, several callers with their own
// snapshots and clocks, and an exact log.
type world struct {
	t       *testing.T
	engine  dynamo.API
	table   string
	limit   limit.Limit
	mutate  dynamomodel.Mutation // of every caller's writes
	callers map[string]*dynamo.Store
	wires   map[string]*wire
	last    map[string]limit.Receipt // each caller's latest admission
	charged map[int64]int64          // units by slot: the exact log
	counted map[string][2]int64
}

// newWorld returns a counter of a sliding window of k slots of a second.
func newWorld(t *testing.T, capacity, k int64) *world {
	engine, table := newTable(t)
	return &world{
		t: t, engine: engine, table: table,
		limit:   limit.Limit{Capacity: capacity, Window: time.Duration(k) * time.Second, Granularity: time.Second},
		callers: map[string]*dynamo.Store{}, wires: map[string]*wire{},
		last: map[string]limit.Receipt{}, charged: map[int64]int64{}, counted: map[string][2]int64{},
	}
}

func (w *world) caller(name string) *dynamo.Store {
	if w.callers[name] == nil {
		wire := &wire{mutation: w.mutate, took: func(slot, units int64) { w.charged[slot] += units }}
		wire.API, wire.Update = w.engine, wire.update
		w.wires[name] = wire
		w.callers[name] = dynamo.New(w.wires[name], w.table, dynamo.Options{Wall: func() time.Time { return epoch }})
	}
	return w.callers[name]
}

func (w *world) time(slot int64) time.Time { return epoch.Add(time.Duration(slot) * time.Second) }

func (w *world) charge(cost int64) *limit.Charge {
	return &limit.Charge{Key: key, Limits: []limit.Limit{w.limit}, Costs: []int64{cost}}
}

// try charges with a caller's clock at a slot, and reports whether the charge
// was admitted.
func (w *world) try(name string, slot, cost int64) (bool, error) {
	var v limit.Verdict
	err := w.caller(name).Charge(context.Background(), w.time(slot), w.charge(cost), &v)
	if err == nil && v.Allowed {
		w.last[name] = v.Receipt
	}
	return err == nil && v.Allowed, err
}

// lost charges, but the answer does not reach the caller.
func (w *world) lost(name string, slot, cost int64) {
	w.caller(name)
	w.wires[name].lose = true
	_, _ = w.try(name, slot, cost)
}

// settle corrects an admission and logs its effect in the engine. The log
// ignores a correction of another generation, which must not take effect.
func (w *world) settle(name string, of limit.Receipt, slot, delta int64) error {
	before := w.item()
	err := w.caller(name).Settle(context.Background(), w.time(slot), w.charge(max(0, -delta)), &of, []int64{delta})
	if generation, ok := before["e"].(*types.AttributeValueMemberS); !ok || generation.Value != of.Generation {
		return err
	}
	for attribute, value := range w.item() {
		if number, err := strconv.ParseInt(attribute[1:], 36, 64); err == nil && attribute == strings.ToLower(attribute) && attribute[0] == 'a' {
			w.charged[number] += dynamomodel.Units(value) - dynamomodel.Units(before[attribute])
		}
	}
	return err
}

// reset deletes the counter, as an operator does, and clears the log.
func (w *world) reset() {
	w.t.Helper()
	if err := w.caller("operator").Reset(context.Background(), key); err != nil {
		w.t.Fatal(err)
	}
	clear(w.charged)
}

func (w *world) item() map[string]types.AttributeValue {
	w.t.Helper()
	out, err := w.engine.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &w.table, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Item
}

// slot returns the item's units in a slot, counted from the start of the trace.
func (w *world) slot(n int64) int64 {
	return dynamomodel.Units(w.item()["a"+strconv.FormatInt(w.time(n).Unix(), 36)])
}

// most returns the most units in any window of k+1 slots.
func (w *world) most() (most int64) {
	for first := range w.charged {
		var sum int64
		for slot := first; slot <= first+w.limit.Slots(); slot++ {
			sum += w.charged[slot]
		}
		most = max(most, sum)
	}
	return most
}
