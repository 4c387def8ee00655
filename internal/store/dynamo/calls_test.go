package dynamo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

func (w *world) must(allowed bool, name string, slot, cost int64) {
	w.t.Helper()
	if got, err := w.try(name, slot, cost); err != nil || got != allowed {
		w.t.Fatalf("%s at slot %d, cost %d: allowed %v, error %v; want %v", name, slot, cost, got, err, allowed)
	}
}

// calls returns how many calls a caller has sent since the last use of calls.
func (w *world) calls(name string) (reads, writes int64) {
	reads, writes = dynamo.Calls(w.caller(name))
	before := w.counted[name]
	w.counted[name] = [2]int64{reads, writes}
	return reads - before[0], writes - before[1]
}

func (w *world) cost(name string, reads, writes int64) {
	w.t.Helper()
	if r, n := w.calls(name); r != reads || n != writes {
		w.t.Errorf("%s: %d reads and %d writes, want %d and %d", name, r, n, reads, writes)
	}
}

// TestCalls is a table of traces, of what each is to show: which calls decide.
func TestCalls(t *testing.T) {
	for name, test := range map[string]struct {
		capacity, k int64
		trace       string
	}{
		"a snapshot denies for ten seconds without a call": {
			3, 10, "A 0:3 yes 1w, A 0:1 no, A 5:1 no, A 9:1 no 0w, A 10:1 no, A 11:1 yes 1w",
		},
		"an old snapshot is read again before it denies; then it is fresh, and shows no reset": {
			3, 60, "A 0:3 yes 1w, A 11:1 no 1r, reset, A 12:1 no, A 22:1 yes 1r 1w",
		},
		"an old snapshot that was read again proves room: one write is enough": {
			3, 60, "A 0:3 yes, B 0:-1 of A, A 10:1 no 1w, A 11:1 yes 1r 1w",
		},
		"a cold fleet takes one write each": {3, 60, "A 0:1 yes 1w, B 1:1 yes 1w, C 2:1 yes 1w, D 3:1 no 1w"},
		"an idle key: A's snapshot proves room, C fetches one, and D draws on the credit that C computed": {
			3, 10, "A 0:3 yes 1w, A 100:1 yes 1w, C 200:1 yes 2w, D 200:1 yes 1w",
		},
		"a caller whose snapshot proves its room computes the credit again": {
			5, 10, "A 0:2 yes, A 5:1 yes, A 15:1 yes, C 15:3 yes 1w", // slot 5 is the oldest that counts
		},
		"a late caller is in the newest slot, of which it learns by failing once": {
			3, 10, "A 5:1 yes, late 0:1 yes 2w, late 1:1 yes 1w, slot 5 = 3, late 15:1 no, late 16:1 yes",
		},
		"an item that is gone is created again": {3, 10, "A 0:2 yes, reset, A 1:1 yes 3w, A 1:2 yes, A 1:1 no"},

		"a receipt refunds no more than its slot holds, whoever sends it again": {
			5, 10, "A 0:2 yes, B 0:1 yes, A 0:-2 of A, A 0:-2 of A, C 0:-2 of A, slot 0 = 1",
		},
		"a snapshot older than another's charge proves nothing about its refund": {
			9, 10, "A 0:2 yes, B 0:1 yes 1w, A 0:4 yes, B 0:-4 of A 1w, A 1:1 yes, B 1:-1 of A 1w, slot 0 = 3, slot 1 = 0",
		},
		"a settlement whose answer is lost is not sent again: it could refund another's units": {
			4, 10, "A 0:2 yes 1w, B 0:2 yes, A 0:-2 of A lost 1w, slot 0 = 2",
		},
		"no refund to a slot that has left a window, and no call if it has by the clock of the refund": {
			3, 2, "A 0:2 yes 1w, B 1:1 yes, late 3:1 yes, C 2:-2 of A, most 3, A 9:-2 of A 0w",
		},
		"a correction of nothing makes no call": {3, 2, "A 0:3 yes 1w, A 0:+0 of A 0w, C 0:+0 of A 0w, slot 0 = 3"},
		"a refund of the generation before changes nothing": {
			9, 2, "A 0:3 yes 1w, reset, A 0:-1 of A 1w, gone, B 0:4 yes, A 0:-1 of A 1w, slot 0 = 4",
		},
		"an extra charge of the generation before changes nothing": {
			9, 2, "A 0:3 yes 1w, reset, A 0:+1 of A 1w, gone, B 0:4 yes, A 0:+1 of A 1w, slot 0 = 4",
		},

		"pruning waits for a charge of another key": { // a window of ten slots has eight that expired
			1000, 10, "cold 8, B 40:1 yes 1w, slot 0 = 1, B 40 other 2w, slot 0 = 0, slot 7 = 0, slot 40 = 1, total = 9, " +
				"B 41:1 yes 1w",
		},
		"7 expired slots are not pruned":             {1000, 4, "cold 7, B 60:1 yes 1w, B 60 other 1w"},
		"8 of a window of 4 are":                     {1000, 4, "cold 8, B 60:1 yes 1w, B 60 other 2w"},
		"half a window of 20 is not pruned":          {1000, 20, "cold 10, B 60:1 yes 1w, B 60 other 1w"},
		"more than half a window of 20 is":           {1000, 20, "cold 11, B 60:1 yes 1w, B 60 other 2w"},
		"more than half a window of 21 begins at 11": {1000, 21, "cold 10, B 60:1 yes 1w, B 60 other 1w"},
		"a charge of the same key removes expired slots, so that no pruning is due": {
			1000, 10, "cold 8, B 40:1 yes 1w, B 41:1 yes 1w, slot 0 = 0, slot 7 = 0, B 41 other 1w",
		},
		"a charge removes the slots before its window, and the total never falls": {
			1000, 4, "A 0:1, A 1:1, A 2:1, A 3:1, A 4:1, A 6:1, " +
				"slot 0 = 0, slot 1 = 0, slot 2 = 1, slot 3 = 1, slot 4 = 1, slot 5 = 0, slot 6 = 1, total = 6",
		},
		"the ttl is of the slot that is charged, by the wall clock; a refund does not change it": {
			9, 10, "A 0:1 yes, ttl = 11, A 5:1 yes, ttl = 11, A 2:1 yes, ttl = 14, " +
				"A 7:+1 of A, ttl = 11, slot 7 = 1, A 5:-1 of A, ttl = 11",
		},
	} {
		t.Run(name, func(t *testing.T) { newWorld(t, test.capacity, test.k).play(test.trace) })
	}
}

// TestLimitNewToASnapshot charges a limit that the snapshot shows as never
// charged. The credit cannot be used then: a second write uses the total.
func TestLimitNewToASnapshot(t *testing.T) {
	w := newWorld(t, 5, 10)
	c := w.charge(1)
	c.Limits = append(c.Limits, c.Limits[0])
	for _, step := range []struct {
		name   string
		costs  []int64
		writes int64
	}{{"A", []int64{1, 0}, 1}, {"B", []int64{1, 1}, 1}, {"A", []int64{0, 1}, 2}, {"A", []int64{1, 1}, 1}} {
		c.Costs = step.costs
		var v limit.Verdict
		if err := w.caller(step.name).Charge(context.Background(), epoch, c, &v); err != nil || !v.Allowed {
			t.Fatalf("%s, costs %d: %+v, error %v", step.name, step.costs, v, err)
		}
		w.cost(step.name, 0, step.writes)
	}
}

// TestCallsOfHolds: opening a hold, its renewal and its settlement are a write each.
// A flood that finds no place is a read a second, because one may be free at any time.
func TestCallsOfHolds(t *testing.T) {
	w := newWorld(t, 1, 0)
	c := w.charge(1)
	c.Limits = []limit.Limit{{Algorithm: limit.InFlight, Capacity: 1, Window: time.Minute}}
	c.Hold = limit.Opening{ID: 1, For: time.Minute}
	var held, v limit.Verdict
	if err := w.caller("A").Charge(t.Context(), epoch, c, &held); err != nil || !held.Allowed {
		t.Fatalf("%+v, %v", held, err)
	}
	w.cost("A", 0, 1)
	for i := range time.Duration(1000) { // in ten seconds
		c.Hold.ID++
		if err := w.caller("A").Charge(t.Context(), epoch.Add(i*10*time.Millisecond), c, &v); err != nil || v.Allowed {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	w.cost("A", 9, 0)
	if err := w.caller("B").Renew(t.Context(), epoch.Add(30*time.Second), c, &held.Receipt); err != nil {
		t.Error(err)
	}
	w.cost("B", 0, 1)
	if err := w.caller("C").Settle(t.Context(), epoch.Add(40*time.Second), c, &held.Receipt, []int64{0}); err != nil {
		t.Error(err)
	}
	w.cost("C", 0, 1)
}

// TestLastAnswerDecides takes the last unit just before a caller's third
// attempt, whose answer then denies.
func TestLastAnswerDecides(t *testing.T) {
	w := newWorld(t, 4, 10)
	w.must(true, "A", 0, 1)
	w.caller("B")
	w.wires["B"].mutation = func(u *types.Update) {
		*u.ConditionExpression = "#aH < :zero AND " + *u.ConditionExpression
		w.must(true, fmt.Sprint("other-", len(w.wires["B"].sent)), 0, 1)
	}
	w.must(false, "B", 0, 1)
	w.cost("B", 0, 3)
}

// TestPeekShowsAReset checks that a peek replaces the snapshot of a deleted
// counter, also for later charges.
func TestPeekShowsAReset(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	w.reset()
	w.must(false, "A", 0, 1)
	var v limit.Verdict
	if err := w.caller("A").Peek(context.Background(), epoch, w.charge(1), &v); err != nil || !v.Allowed {
		t.Fatalf("got %+v, error %v", v, err)
	}
	w.must(true, "A", 0, 1)
}

// TestDenies checks that a snapshot denies without a call for ten seconds, also
// by a clock that was set back, and that Denies never admits.
func TestDenies(t *testing.T) {
	w := newWorld(t, 3, 60)
	denies := func(slot, cost int64) bool {
		var v limit.Verdict
		return w.caller("A").Denies(w.time(slot), w.charge(cost), &v)
	}
	if denies(20, 4) {
		t.Error("denies without a snapshot")
	}
	w.must(true, "A", 20, 2)
	w.calls("A")
	for _, test := range []struct {
		slot, cost int64
		want       bool
	}{{20, 1, false}, {20, 2, true}, {30, 2, true}, {31, 2, false}, {10, 2, true}, {9, 2, false}} {
		if got := denies(test.slot, test.cost); got != test.want {
			t.Errorf("slot %d, cost %d: denies %v, want %v", test.slot, test.cost, got, test.want)
		}
	}
	w.cost("A", 0, 0)
}

// TestWritesPerCharge makes charges at random times, and bounds the writes for
// each. Processes that share nothing need a second write for a bucket only if
// the bucket was full by their snapshot and is not, or the reverse.
func TestWritesPerCharge(t *testing.T) {
	window := limit.Limit{Capacity: 100, Window: time.Minute, Granularity: time.Second}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 100, Window: time.Minute, Burst: 100}
	for _, test := range []struct {
		name      string
		limit     limit.Limit
		processes int
		most      map[float64]float64 // by load: writes for a charge
	}{
		{"window", window, 1, map[float64]float64{0.1: 1, 0.5: 1, 0.9: 1, 3: 0.39}},
		{"window", window, 16, map[float64]float64{0.1: 1, 0.5: 1, 0.9: 1, 3: 0.48}},
		{"bucket", bucket, 1, map[float64]float64{0.1: 1, 0.5: 1, 0.9: 1, 3: 0.45}},
		{"bucket", bucket, 2, map[float64]float64{0.1: 1.08, 0.5: 1.25, 0.9: 1.2, 3: 0.65}},
		{"bucket", bucket, 16, map[float64]float64{0.1: 1.15, 0.5: 1.5, 0.9: 1.75, 3: 1.05}},
	} {
		for load, most := range test.most {
			each := writesPerCharge(t, test.limit, test.processes, load)
			what := fmt.Sprintf("%s, %d processes, load %.1f: %.3f writes for a charge", test.name, test.processes, load, each)
			t.Log(what)
			if each > most {
				t.Errorf("%s, want at most %.2f", what, most)
			}
		}
	}
}

// writesPerCharge sends 1,000 charges of 1 unit, at random times and by random
// processes.
func writesPerCharge(t *testing.T, l limit.Limit, processes int, load float64) float64 {
	table, stores := dynamomodel.New("counters", "k"), []*dynamo.Store{}
	for range processes {
		stores = append(stores, dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }}))
	}
	const charges = 1000
	random, now := rand.New(rand.NewPCG(1, 1)), epoch
	between := float64(l.Window) / float64(l.Capacity) / load
	for range charges {
		now = now.Add(time.Duration(random.ExpFloat64() * between))
		c := &limit.Charge{Key: key, Limits: []limit.Limit{l}, Costs: []int64{1}}
		if err := stores[random.IntN(processes)].Charge(t.Context(), now, c, &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
	}
	var all int64
	for _, store := range stores {
		_, writes := dynamo.Calls(store)
		all += writes
	}
	return float64(all) / charges
}
