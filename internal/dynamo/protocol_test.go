package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

func (w *world) must(allowed bool, name string, slot, cost int64) {
	w.t.Helper()
	if got, err := w.try(name, slot, cost); err != nil || got != allowed {
		w.t.Fatalf("%s at slot %d, cost %d: allowed %v, error %v; want %v", name, slot, cost, got, err, allowed)
	}
}

// calls returns what a caller has sent since the last time it was asked.
func (w *world) calls(name string) (reads, writes int64) {
	reads, writes = w.caller(name).Calls()
	seen := w.counted[name]
	w.counted[name] = [2]int64{reads, writes}
	return reads - seen[0], writes - seen[1]
}

func (w *world) cost(name string, reads, writes int64) {
	w.t.Helper()
	if r, n := w.calls(name); r != reads || n != writes {
		w.t.Errorf("%s: %d reads and %d writes, want %d and %d", name, r, n, reads, writes)
	}
}

func TestDenialByViewAsksNobody(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	w.cost("A", 0, 1)
	for slot := range int64(10) {
		w.must(false, "A", slot, 1)
	}
	w.cost("A", 0, 0)
	w.must(false, "A", 10, 1) // still younger than ten seconds, and slot 0 still counts
	w.must(true, "A", 11, 1)
	w.cost("A", 0, 1)
}

func TestOldViewIsCheckedBeforeItDenies(t *testing.T) {
	w := newWorld(t, 3, 60)
	w.must(true, "A", 0, 3)
	w.must(false, "A", 11, 1)
	w.cost("A", 1, 1)
	w.reset()
	w.must(false, "A", 12, 1) // the view is fresh again: the reset does not show yet
	w.must(true, "A", 22, 1)
	w.cost("A", 1, 1)
}

func TestColdFleetTakesOneWriteEach(t *testing.T) {
	w := newWorld(t, 20, 60)
	for i := range 20 {
		name := fmt.Sprint("cold-", i)
		w.must(true, name, int64(i), 1)
		w.cost(name, 0, 1)
	}
	w.must(false, "one more", 20, 1)
	w.cost("one more", 0, 1)
}

func TestIdleKey(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	w.calls("A")
	w.must(true, "A", 100, 1)
	w.cost("A", 0, 1) // its view proves the room
	w.must(true, "stranger", 200, 1)
	w.cost("stranger", 0, 2) // no view, and the credit is used up: the first attempt fetches one
}

func TestLateCallerIsInTheNewestSlot(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 5, 1)
	w.must(true, "late", 0, 1) // learns of slot 5 by failing once
	w.cost("late", 0, 2)
	w.must(true, "late", 1, 1)
	w.cost("late", 0, 1)
	if got := w.slot(5); got != 3 {
		t.Errorf("slot 5 holds %d units, want all 3", got)
	}
	w.must(false, "late", 15, 1)
	w.must(true, "late", 16, 1)
}

func TestTTL(t *testing.T) {
	w := newWorld(t, 3, 10)
	ttl := func() int64 { w.t.Helper(); return units(w.item()["ttl"]) - epoch.Unix() }
	w.must(true, "A", 0, 1)
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s after the epoch, want the end of slot 10 and an hour", got)
	}
	w.must(true, "A", 5, 1) // the wall still stands at the epoch: 11 s to the end of slot 15
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s, want 11 s and an hour from the wall", got)
	}
	w.must(true, "A", 2, 1) // charged in slot 5, whose window ends 14 s from slot 2
	if got := ttl(); got != 14+3600 {
		t.Errorf("ttl is %d s, want 14 s and an hour: reckoned from the slot charged, not from the clock", got)
	}
	if err := w.settle("A", w.last["A"], 7, 1); err != nil {
		t.Fatal(err)
	}
	if got, h := ttl(), units(w.item()["aH"]); got != 11+3600 || h != w.time(7).Unix() {
		t.Errorf("ttl is %d s, newest slot %d: charging more must set both", got, h)
	}
}

func TestTTLCoversLimitsThatCostNothing(t *testing.T) {
	w := newWorld(t, 3, 10)
	c := w.charge(1)
	c.Limits = append(c.Limits, limit.Limit{Name: "b", Capacity: 5, Window: time.Hour, Granularity: time.Minute})
	c.Costs = []int64{1, 0}
	if err := w.caller("A").Charge(context.Background(), epoch, c, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if got := units(w.item()["ttl"]) - epoch.Unix(); got != 3660+3600 {
		t.Errorf("ttl is %d s, want that of the hour's window", got)
	}
}

func TestExpiredSlotsAreRemoved(t *testing.T) {
	w := newWorld(t, 1000, 4)
	for slot := range int64(5) {
		w.must(true, "A", slot, 1)
	}
	w.must(true, "A", 6, 1)
	for slot, want := range []int64{0, 0, 1, 1, 1, 0, 1} {
		if got := w.slot(int64(slot)); got != want {
			t.Errorf("slot %d holds %d units, want %d: the window is 2 … 6", slot, got, want)
		}
	}
	if got := units(w.item()["aC"]); got != 6 {
		t.Errorf("total %d, want 6: it never falls", got)
	}
}

// TestRemovalsAreBounded lets 300 slots expire under callers without views, then charges twice with one.
func TestRemovalsAreBounded(t *testing.T) {
	w := newWorld(t, 100_000, 300)
	for slot := range int64(300) {
		w.must(true, "A", slot, 1)
	}
	w.must(true, "A", 1000, 1)
	left := strings.Count(fmt.Sprint(w.item()), "Value:1 ") // slots with a unit
	if removed := strings.Count(*w.wires["A"].sent[300].UpdateExpression, "#a") - len("C H F N s s"); left == 1 || removed > 210 {
		t.Errorf("%d slots left, about %d removed: one write names 200 at most", left, removed)
	}
	w.must(true, "A", 1001, 1)
	if n := len(w.item()); n != 2+4+2+1 {
		t.Errorf("%d attributes left: the second write removes the rest", n)
	}
}

// TestTidying has only strangers charge a key: nobody could name the expired slots, so a write of its own follows.
func TestTidying(t *testing.T) {
	w := newWorld(t, 1000, 4)
	for slot := range int64(4) {
		w.must(true, fmt.Sprint("cold-", slot), slot, 1)
	}
	w.must(true, "B", 20, 1) // sees four expired slots of a window of four
	if w.slot(0) != 1 {
		t.Fatal("slot 0 went too early")
	}
	other := w.charge(1)
	other.Key = "rule|user:2|00000000"
	if err := w.caller("B").Charge(context.Background(), w.time(20), other, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if w.slot(0)+w.slot(3) != 0 || w.slot(20) != 1 || units(w.item()["aC"]) != 5 {
		t.Errorf("item after tidying: %v", w.item())
	}
	w.calls("B")
	w.must(true, "B", 21, 1)
	w.cost("B", 0, 1)
}

// TestTidyingTouchesNothingNew gives the key a new charge between the sight of the expired slots and their removal.
func TestTidyingTouchesNothingNew(t *testing.T) {
	w := newWorld(t, 1000, 4)
	for slot := range int64(4) {
		w.must(true, fmt.Sprint("cold-", slot), slot, 1)
	}
	w.must(true, "B", 20, 1)
	w.must(true, "C", 20, 1)
	other := w.charge(1)
	other.Key = "rule|user:2|00000000"
	if err := w.caller("B").Charge(context.Background(), w.time(20), other, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if w.slot(0) != 1 || w.slot(20) != 2 {
		t.Errorf("the item had changed, and was tidied all the same: %v", w.item())
	}
}

func TestItemGone(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 2)
	w.reset()
	w.must(true, "A", 1, 1) // fails without ALL_OLD, then makes the item anew
	w.cost("A", 0, 3)
	w.must(true, "A", 1, 2)
	w.must(false, "A", 1, 1)
}

func TestThreeAttempts(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 1)
	w.tamper = condition("#aH <= :aq", "(#aH <= :aq AND #aH < :zero)") // nobody gets through
	_, err := w.try("B", 0, 1)
	if !errors.Is(err, dynamo.ErrContended) {
		t.Errorf("error %v, want ErrContended", err)
	}
	w.cost("B", 0, 3)
}

// TestLastAnswerDecides takes the last unit away under a caller's third attempt: the answer to it denies.
func TestLastAnswerDecides(t *testing.T) {
	w := newWorld(t, 4, 10)
	w.must(true, "A", 0, 1)
	w.caller("B")
	w.wires["B"].tamper = func(in *dynamodb.UpdateItemInput) {
		*in.ConditionExpression = "#aH < :zero AND " + *in.ConditionExpression
		w.must(true, fmt.Sprint("other-", len(w.wires["B"].sent)), 0, 1)
	}
	w.must(false, "B", 0, 1)
	w.cost("B", 0, 3)
}

func TestPeekChargesNothing(t *testing.T) {
	w := newWorld(t, 3, 10)
	var v limit.Verdict
	for range 2 {
		if err := w.caller("A").Peek(context.Background(), epoch, w.charge(3), &v); err != nil || !v.Allowed || v.Remaining != 3 {
			t.Fatalf("got %+v, error %v", v, err)
		}
	}
	w.cost("A", 2, 0)
	if len(w.item()) != 0 {
		t.Errorf("asking made an item: %v", w.item())
	}
}

func TestGiveBack(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	if err := w.settle("A", w.last["A"], 1, -2); err != nil {
		t.Fatal(err)
	}
	w.must(true, "A", 1, 2)
	w.must(false, "A", 1, 1)
	if got := units(w.item()["aC"]); got != 5 {
		t.Errorf("total %d, want 5: it never falls", got)
	}
}

func TestGiveBackNeverBelowZero(t *testing.T) {
	w := newWorld(t, 5, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 1)
	for _, name := range []string{"A", "A", "stranger"} { // whoever sends the same receipt again
		if err := w.settle(name, w.last["A"], 0, -2); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.slot(0); got != 1 {
		t.Errorf("slot 0 holds %d units, want B's one", got)
	}
}

func TestGiveBackTooLate(t *testing.T) {
	w := newWorld(t, 3, 2)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 1, 1)
	receipt := w.last["A"]
	w.must(true, "late", 3, 1)
	if err := w.settle("stranger", receipt, 2, -2); err != nil { // by its clock the slot still counts
		t.Fatal(err)
	}
	if got := w.most(); got > 3 {
		t.Errorf("%d units in a window", got)
	}
	w.calls("A")
	if err := w.settle("A", receipt, 9, -2); err != nil {
		t.Fatal(err)
	}
	w.cost("A", 0, 0) // its clock tells that the units are worth nothing now
}

// TestGiveBackOnce loses the answer to a settlement: sent again, it could give back another caller's units.
func TestGiveBackOnce(t *testing.T) {
	w := newWorld(t, 4, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 2)
	w.calls("A")
	w.wires["A"].lose = true
	if err := w.settle("A", w.last["A"], 0, -2); err == nil {
		t.Error("a lost answer is no success")
	}
	w.cost("A", 0, 1)
	if got := w.slot(0); got != 2 {
		t.Errorf("slot 0 holds %d units, want B's 2", got)
	}
}

func TestChargeMoreGoesToTheNewestSlot(t *testing.T) {
	w := newWorld(t, 5, 2)
	w.must(true, "A", 0, 1)
	w.must(true, "B", 3, 2)
	if err := w.settle("A", w.last["A"], 0, 4); err != nil { // late, and above the capacity
		t.Fatal(err)
	}
	if got, h := w.slot(3), units(w.item()["aH"]); got != 6 || h != w.time(3).Unix() {
		t.Errorf("slot 3 holds %d units, newest slot %d; want 6, in slot 3", got, h-epoch.Unix())
	}
	w.must(false, "stranger", 5, 1)
	w.must(true, "stranger", 6, 1)
}

func TestSeveralLimits(t *testing.T) {
	w := newWorld(t, 5, 60)
	c := w.charge(1)
	c.Limits = []limit.Limit{
		{Name: "burst", Capacity: 2, Window: 10 * time.Second, Granularity: time.Second},
		{Name: "fixed", Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Minute, Granularity: time.Minute},
		{Name: "long", Capacity: 3, Window: time.Minute, Granularity: time.Second},
	}
	store, model := w.caller("A"), memory.New(0)
	for i, step := range []struct {
		slot    int64
		costs   []int64
		allowed bool
	}{
		{0, []int64{1, 1, 1}, true},
		{0, []int64{1, 5, 1}, true},
		{1, []int64{1, 1, 1}, false},  // the burst denies, and nothing is charged to the others
		{1, []int64{0, 1, 1}, true},   // without the burst there is room
		{12, []int64{1, 1, 1}, false}, // now the long one denies
		{12, []int64{2, 2, 0}, true},
		{12, []int64{0, 0, 0}, true},
		{13, []int64{0, 1, 0}, false}, // 9 of 9 in this minute
		{63, []int64{1, 1, 1}, true},
	} {
		c.Costs = step.costs
		var got, want limit.Verdict
		if err := store.Charge(context.Background(), w.time(step.slot), c, &got); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := model.Charge(context.Background(), w.time(step.slot), c, &want); err != nil {
			t.Fatal(err)
		}
		if got.Allowed != step.allowed || got.Result != want.Result || got.Limits != want.Limits {
			t.Fatalf("step %d:\ngot    %+v\nmemory %+v", i, got, want)
		}
	}
}

// TestAgreesWithMemory charges at random and expects the memory store's every answer: of one caller whose clock is late
// at times, and of four whose clocks agree. (Of both at once it would be wrong to: a late caller with an old view may be
// denied by the window that its clock shows, when the store has moved on to a later one.)
func TestAgreesWithMemory(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, test := range []struct {
		callers int
		late    time.Duration
	}{{1, 1500 * time.Millisecond}, {4, 0}} {
		w := newWorld(t, 20, 7)
		model, ctx, elapsed := memory.New(0), context.Background(), time.Duration(0)
		for i := range 400 {
			elapsed += time.Duration(r.Int64N(int64(time.Second)))
			now := epoch.Add(elapsed - time.Duration(r.Int64N(int64(test.late+1))))
			c := w.charge(r.Int64N(5))
			var got, want limit.Verdict
			if err := w.caller(fmt.Sprint(r.IntN(test.callers))).Charge(ctx, now, c, &got); err != nil {
				t.Fatal(err)
			}
			if err := model.Charge(ctx, now, c, &want); err != nil {
				t.Fatal(err)
			}
			if got.Allowed != want.Allowed || (got.Allowed || test.callers == 1) && got.Result != want.Result {
				t.Fatalf("charge %d at %v, cost %d:\ngot    %+v\nmemory %+v", i, now.Sub(epoch), c.Costs[0], got.Result, want.Result)
			}
		}
	}
}

// TestConcurrent is the promise in one sentence: 150 requests at once on a limit of 100, exactly 100 allowed, whether the
// eight clients share a process or not.
func TestConcurrent(t *testing.T) {
	client := dynamotest.Connect(t)
	perMinute := []limit.Limit{{Capacity: 100, Window: time.Minute, Granularity: time.Second}}
	table := dynamotest.Counters(t, client)
	for run := range 20 {
		var stores []*dynamo.Store
		for range 1 + run%2*7 {
			stores = append(stores, dynamo.New(client, table, dynamo.Options{Wall: time.Now}))
		}
		c := &limit.Charge{Key: fmt.Sprint("run-", run), Limits: perMinute, Costs: []int64{1}}
		allowed, contended := burst(t, stores, c)
		if allowed+contended < 100 || allowed > 100 {
			t.Errorf("run %d: %d allowed and %d undecided of 150, want exactly 100 allowed", run, allowed, contended)
		}
		if contended > 0 {
			t.Errorf("run %d: three attempts did not decide %d requests", run, contended)
		}
	}
}

func burst(t *testing.T, stores []*dynamo.Store, c *limit.Charge) (allowed, contended int64) {
	var yes, undecided atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := i; n < 150; n += 8 {
				var v limit.Verdict
				err := stores[i%len(stores)].Charge(context.Background(), epoch, c, &v)
				switch {
				case errors.Is(err, dynamo.ErrContended):
					undecided.Add(1)
				case err != nil:
					t.Error(err)
				case v.Allowed:
					yes.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return yes.Load(), undecided.Load()
}
