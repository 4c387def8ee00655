package dynamomodel_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// epoch is the start of every trace: a whole minute.
var epoch = time.Unix(1_700_000_040, 0)

// callers are a few callers of one table, each with its snapshots.
type callers struct {
	stores   []*dynamo.Store
	receipts map[string][]limit.Receipt // by key
}

// newCallers returns three callers. Callers of different tables draw the same
// generations of items. The ttl lies in the future, because an engine deletes
// expired items.
func newCallers(api dynamo.API, table string, wall time.Time) *callers {
	s, generations := &callers{receipts: map[string][]limit.Receipt{}}, 0
	for range 3 {
		s.stores = append(s.stores, dynamo.New(api, table, dynamo.Options{
			Wall:          func() time.Time { return wall },
			NewGeneration: func() string { generations++; return fmt.Sprint("generation ", generations) },
		}))
	}
	return s
}

// step is an action of one caller.
type step struct {
	caller int
	now    time.Time
	reset  bool
	settle int // which receipt to correct, -1 for none
	deltas []int64
	charge *limit.Charge
}

// take performs a step and returns its outcome.
func (s *callers) take(t step) (v limit.Verdict, err error) {
	store, key := s.stores[t.caller], t.charge.Key
	switch {
	case t.reset:
		return v, store.Reset(context.Background(), key)
	case t.settle >= 0 && t.settle < len(s.receipts[key]):
		return v, store.Settle(context.Background(), t.now, t.charge, &s.receipts[key][t.settle], t.deltas)
	}
	if err = store.Charge(context.Background(), t.now, t.charge, &v); err == nil && v.Allowed {
		s.receipts[key] = append(s.receipts[key], v.Receipt)
	}
	return v, err
}

// limitsOf are the limits of the two keys that the steps charge.
var limitsOf = map[string][]limit.Limit{
	"one": {{Capacity: 5, Window: 4 * time.Second, Granularity: time.Second}},
	"two": {
		{Name: "burst", Capacity: 3, Window: 2 * time.Second, Granularity: time.Second},
		{Name: "fixed", Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Minute, Granularity: time.Minute},
		{Name: "long", Capacity: 8, Window: 10 * time.Second, Granularity: time.Second},
	},
}

func drawStep(t *rapid.T, run int, elapsed time.Duration) step {
	name := rapid.SampledFrom([]string{"one", "one", "two"}).Draw(t, "key")
	c := &limit.Charge{Key: fmt.Sprint(run, " ", name), Limits: limitsOf[name]}
	s := step{
		caller: rapid.IntRange(0, 2).Draw(t, "caller"), charge: c, settle: -1,
		now: epoch.Add(elapsed - time.Duration(rapid.IntRange(0, 1500).Draw(t, "late"))*time.Millisecond),
	}
	for range c.Limits {
		c.Costs = append(c.Costs, rapid.Int64Range(0, 2).Draw(t, "cost"))
		s.deltas = append(s.deltas, rapid.Int64Range(-2, 2).Draw(t, "delta"))
	}
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0:
		s.reset = true
	case 1, 2:
		s.settle = rapid.IntRange(0, 3).Draw(t, "receipt")
	}
	return s
}

// TestStoreAgreesOnBoth runs the store over a real engine and over the model.
// On both, three callers make the same random charges, settlements and resets,
// and their clocks are sometimes late. Verdicts, errors and items must be the
// same.
func TestStoreAgreesOnBoth(t *testing.T) {
	client := dynamotest.Connect(t)
	engine := dynamotest.Counters(t, client)
	wall := time.Now()
	run, allowed, denied, settled := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		table := dynamomodel.New(tableName, "k")
		onEngine, onModel := newCallers(client, engine, wall), newCallers(table, tableName, wall)
		elapsed := time.Duration(0)
		for range 9 {
			elapsed += time.Duration(rapid.SampledFrom([]int{0, 100, 900, 2500, 12_000}).Draw(t, "pause")) * time.Millisecond
			s := drawStep(t, run, elapsed)
			want, wanted := onEngine.take(s)
			got, failed := onModel.take(s)
			if !reflect.DeepEqual(got, want) || fmt.Sprint(failed) != fmt.Sprint(wanted) {
				t.Fatalf("model  %+v, %v\nengine %+v, %v", got, failed, want, wanted)
			}
			switch {
			case s.settle >= 0 && !got.Allowed:
				settled++
			case got.Allowed:
				allowed++
			default:
				denied++
			}
		}
		for _, key := range []string{fmt.Sprint(run, " one"), fmt.Sprint(run, " two")} {
			in := getInput(key)
			in.TableName = &engine
			out, err := client.GetItem(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := table.Item(key), out.Item; formatItem(got) != formatItem(want) {
				t.Fatalf("item %s\nmodel  %s\nengine %s", key, formatItem(got), formatItem(want))
			}
		}
	})
	if allowed < run || denied < run || settled == 0 {
		t.Errorf("%d allowed, %d denied, %d settled in %d runs: too few", allowed, denied, settled, run)
	}
}

// TestExpressionsAreValid makes the store send each kind of write, with as many
// limits as a rule may have. The model refuses every write that DynamoDB would
// refuse.
func TestExpressionsAreValid(t *testing.T) {
	var limits []limit.Limit
	var costs, up, down []int64
	for i := range 8 {
		limits = append(limits, limit.Limit{Name: string(rune('a' + i)), Capacity: 1000, Window: time.Minute, Granularity: time.Second})
		costs, up, down = append(costs, 2), append(up, 1), append(down, -1)
	}
	table := dynamomodel.New(tableName, "k")
	var mu sync.Mutex // the store prunes one counter while it charges another
	var sent []*dynamodb.UpdateItemInput
	double := &dynamotest.Double{API: table}
	double.Update = func(
		_ context.Context, in *dynamodb.UpdateItemInput, send dynamotest.Send[dynamodb.UpdateItemOutput],
	) (*dynamodb.UpdateItemOutput, error) {
		mu.Lock()
		sent = append(sent, in)
		mu.Unlock()
		return send()
	}
	newStore := func() *dynamo.Store {
		return dynamo.New(double, tableName, dynamo.Options{Wall: func() time.Time { return epoch }})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store, c, v := newStore(), &limit.Charge{Key: "long", Limits: limits, Costs: costs}, limit.Verdict{}
	charge := func(s *dynamo.Store, slot int) {
		t.Helper()
		must(s.Charge(context.Background(), epoch.Add(time.Duration(slot)*time.Second), c, &v))
	}
	for slot := range 61 {
		charge(store, slot)
	}
	receipt := v.Receipt
	must(store.Settle(context.Background(), epoch.Add(time.Minute), c, &receipt, up))
	must(store.Settle(context.Background(), epoch.Add(time.Minute), c, &receipt, down))
	charge(newStore(), 62) // without a snapshot
	other := newStore()
	charge(other, 1000) // all its slots expired: it only prunes, for another key
	c.Key = "another"
	charge(other, 1000)
	c.Key = "long"
	charge(store, 1001) // removes the expired slots of its snapshot
	longest := 0
	for _, in := range sent {
		longest = max(longest, len(aws.ToString(in.UpdateExpression)))
	}
	if longest < 1500 || len(sent) < 65 {
		t.Errorf("%d writes, the longest of %d bytes: too few or too short", len(sent), longest)
	}
}
