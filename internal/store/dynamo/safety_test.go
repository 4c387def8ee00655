package dynamo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestSafetyTerms runs a trace for each term of the protocol twice. With the
// protocol as it is, no window of two slots may exceed the capacity. With the
// term broken on the way to the engine, the same trace must exceed it. The
// traces are the shortest counterexamples that the exploration of small systems
// finds.
func TestSafetyTerms(t *testing.T) {
	for name, test := range map[string]struct {
		capacity int64
		broken   dynamomodel.Mutation
		trace    string // see play
	}{
		"time never runs backwards: h <= :q": {3, dynamomodel.AnyOrder, "A 0:2, A 1:1, A 2:1, late 0:1"},
		"a snapshot writes to its own generation: e = :e": {
			1, dynamomodel.AnyGeneration, "A 0:1, reset, B 2:1, A 2:1",
		},
		"a snapshot never creates an item": {
			1, dynamomodel.CreateFromSnapshot, "A 0:1, A 0:-1 of A, reset, A 1:1, B 1:1",
		},
		"the ceiling: C <= :B":                {2, dynamomodel.AnyTotal, "A 0:1, A 0:1 lost, A 0:1"},
		"the ceiling, one unit looser":        {2, dynamomodel.OneUnitTooMany, "A 0:1, A 0:1 lost, A 0:1"},
		"the credit covers the cost: f >= :c": {2, dynamomodel.CreditOfOne, "A 0:1, B 0:2"},
		"the credit is for one capacity: n = :N": {
			1, dynamomodel.AnyCapacity, "capacity 3, A 0:1, capacity 1, B 0:1",
		},
		"the credit is computed from the total now": {
			3, dynamomodel.CreditOfEmptyWindow, "A 0:1, A 0:1 lost, A 1:1, B 1:1",
		},
		"without a snapshot the credit shrinks":      {2, dynamomodel.FreeColdCharge, "A 0:1 lost, B 0:2"},
		"without a snapshot the credit only shrinks": {2, dynamomodel.FullCreditWhenCold, "A 0:1 lost, B 0:1 lost, C 0:1"},
		"drawing on the credit leaves its capacity": {
			1, dynamomodel.CapacityOfIdleCharge, "capacity 3, A 0:1, capacity 1, A 2:1 lost, A 2:1",
		},
		"in a slot that the snapshot shows, the credit shrinks": {
			2, dynamomodel.FreeIdleCharge.InKnownSlots(), "A 0:1, A 0:1, B 0:1",
		},
		"in a slot that the snapshot shows, the ceiling": {
			2, dynamomodel.AnyTotal.InKnownSlots(), "A 0:1, A 0:1 lost, A 0:1",
		},
		"no slot that counts is removed": {3, dynamomodel.RemovePrevious, "A 0:2, A 1:1, A 1:1"},
		"refund: in its own generation, e = :e": {
			1, dynamomodel.AnyGeneration, "A 0:1, reset, B 0:1, A 0:-1 of A, C 0:1",
		},
		"refund: the total stays": { // zero cost reads the item
			3, dynamomodel.LowerTotal, "A 0:2, B 0:0, A 1:-2 of A, A 2:3, B 2:1",
		},
		"charging more lowers the credit": {2, dynamomodel.FreeExtraCharge, "A 0:1, A 0:+1 of A, B 0:1"},
	} {
		t.Run(name, func(t *testing.T) {
			for mutation, exceeds := range map[*dynamomodel.Mutation]bool{new(dynamomodel.Mutation): false, &test.broken: true} {
				w := newWorld(t, test.capacity, 1)
				w.mutate = *mutation
				w.play(test.trace)
				if most := w.most(); (most > test.capacity) != exceeds {
					t.Errorf("%d units in a window, capacity %d; with the term broken: %v", most, test.capacity, exceeds)
				}
			}
		})
	}
}

// play makes the steps of a trace, which commas separate:
//
//	A 5:2              A charges 2 units at slot 5
//	A 5:2 yes 1r 2w    it is admitted, and A has made a read and two writes since they were counted last
//	A 5:2 no 0w        it is denied, and A has made no call
//	A 5:2 lost         the answer does not reach A
//	B 6:-1 of A        B refunds a unit of A's latest admission at slot 6; +1 charges one more
//	B 6 other          B charges another key, which sends the pruning that is due
//	cold 8             a caller without a snapshot charges in each of the slots 0 to 7
//	slot 5 = 2, total = 9, ttl = 11 (s, and an hour), most 3 (in any window), capacity 9, reset, gone
func (w *world) play(trace string) {
	w.t.Helper()
	for step := range strings.SplitSeq(trace, ",") {
		step = strings.TrimSpace(step)
		who, rest, _ := strings.Cut(step, " ")
		var slot, units int64
		_, _ = fmt.Sscanf(strings.Replace(rest, " = ", ":", 1), "%d:%d", &slot, &units)
		switch who {
		case "reset":
			w.reset()
		case "capacity":
			w.limit.Capacity = slot
		case "cold":
			w.chargeCold(slot)
		case "most":
			if got := w.most(); got > slot {
				w.t.Errorf("in %q: a window has %d units, want at most %d", trace, got, slot)
			}
		case "total", "ttl":
			attribute, of := "aC", int64(0)
			if who == "ttl" {
				attribute, of = "ttl", epoch.Unix()+3600
			}
			if got := dynamomodel.Units(w.item()[attribute]) - of; "= "+strconv.FormatInt(got, 10) != rest {
				w.t.Errorf("in %q: %s is %d, want %s", trace, who, got, rest)
			}
		case "gone":
			if item := w.item(); len(item) > 0 {
				w.t.Errorf("in %q: the item is %v", trace, item)
			}
		case "slot":
			if got := w.slot(slot); got != units {
				w.t.Errorf("in %q: slot %d has %d units, want %d", trace, slot, got, units)
			}
		default:
			w.act(trace, step, who, slot, units)
		}
	}
}

// act makes a step of a caller.
func (w *world) act(trace, step, who string, slot, units int64) {
	w.t.Helper()
	words := strings.Fields(step)[2:]
	next := func(word string) bool {
		found := len(words) > 0 && words[0] == word
		if found {
			words = words[1:]
		}
		return found
	}
	w.caller(who)
	if next("other") {
		w.chargeOther(who, slot)
	} else if next("of") {
		of := w.last[words[0]]
		words = words[1:]
		lost := next("lost")
		w.wires[who].lose = lost
		if err := w.settle(who, of, slot, units); (err != nil) != lost && w.mutate == nil {
			w.t.Fatalf("in %q: %s: %v", trace, step, err)
		}
	} else {
		w.wires[who].lose = next("lost")
		allowed, err := w.try(who, slot, units)
		if yes, no := next("yes"), next("no"); yes && !allowed || no && (allowed || err != nil) {
			w.t.Fatalf("in %q: %s: allowed %v, error %v", trace, step, allowed, err)
		}
	}
	if len(words) == 0 {
		return
	}
	var reads, writes int64
	for _, word := range words {
		n, _ := strconv.ParseInt(word[:len(word)-1], 10, 64)
		if strings.HasSuffix(word, "r") {
			reads = n
		} else {
			writes = n
		}
	}
	if r, n := w.calls(who); r != reads || n != writes {
		w.t.Errorf("in %q: %s: %d reads and %d writes", trace, step, r, n)
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
	values := in.ExpressionAttributeValues
	slot, cost := dynamomodel.Units(values[":aq"]), dynamomodel.Units(values[":ac"])
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

// settle corrects an admission and logs its effect in the engine. The log
// ignores a correction of another generation, which must not take effect.
func (w *world) settle(name string, of limit.Receipt, slot, delta int64) error {
	before := w.item()
	err := w.caller(name).Settle(context.Background(), w.time(slot), w.charge(max(0, -delta)), &of, []int64{delta})
	if generation, ok := before["e"].(*types.AttributeValueMemberS); !ok || generation.Value != of.Generation {
		return err
	}
	for attribute, value := range w.item() {
		digits, isSlot := strings.CutPrefix(attribute, "a")
		if number, err := strconv.ParseInt(digits, 36, 64); err == nil && isSlot && attribute == strings.ToLower(attribute) {
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
		TableName: &w.table, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}},
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
