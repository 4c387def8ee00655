package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// small returns a world of one counter of 10 units in 10 slots of a second, at
// the epoch. Nothing in it happens on its own.
func small() (*world, *counter, *limit.Charge) {
	w := &world{
		plan: &Plan{Network: Network{Latency: time.Millisecond, Deadline: 250 * time.Millisecond}}, now: epoch, report: &Report{},
		random: random{rand.New(rand.NewPCG(1, 1))}, table: dynamomodel.New(tableName, "k"), counters: map[string]*counter{},
	}
	limits := []limit.Limit{{Capacity: 10, Window: 10 * time.Second, Granularity: time.Second}}
	k := w.newCounter(&subject{Subject: &Subject{}}, limits)
	return w, k, &limit.Charge{Key: k.key, Limits: limits, Costs: []int64{4}}
}

// item returns the counter's item after charges in the slot of the epoch.
func item(generation string, total, units int64) map[string]types.AttributeValue {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	slot := epoch / int64(time.Second)
	return map[string]types.AttributeValue{
		"e": &types.AttributeValueMemberS{Value: generation}, "aC": number(total), "aH": number(slot),
		"a" + strconv.FormatInt(slot, 36): number(units), "ttl": number(slot + 3611),
	}
}

func (w *world) newCall(k *counter, c *limit.Charge, p *part) *call {
	p.counter, p.charge = k, *c
	e := &environment{world: w, number: 1}
	return &call{environment: e, request: &request{world: w, environment: e, parts: []*part{p}, now: time.Unix(0, w.now), trueNow: w.now}}
}

func TestChargesAreLogged(t *testing.T) {
	w, k, c := small()
	for total := int64(4); total <= 8; total += 4 {
		p := &part{}
		k.charge(w, w.newCall(k, c, p), p, item("1.1", total, total))
	}
	if w.report.OverAdmissions != 0 || len(w.report.Violations) != 0 {
		t.Fatalf("8 units of 10: %v", w.report.Violations)
	}
	if k.room(c, time.Unix(0, epoch)) {
		t.Error("room for 4 more after 8 of 10")
	}
	p := &part{}
	k.charge(w, w.newCall(k, c, p), p, item("1.1", 12, 12))
	if w.report.OverAdmissions != 1 || len(w.report.Violations) != 1 {
		t.Errorf("12 units of 10: %v", w.report.Violations)
	}
	k.charge(w, w.newCall(k, c, p), p, item("1.1", 15, 15))
	if n := len(w.report.Violations); n != 3 {
		t.Errorf("%d violations, want another for 16 units and one for a wrong total", n)
	}
}

func TestCorrectionsOfAnotherGenerationAreNotLogged(t *testing.T) {
	for _, test := range []struct {
		generation string
		room       bool
	}{{"1.1", true}, {"2.1", false}} {
		w, k, c := small()
		c.Costs[0] = 10
		p := &part{}
		k.charge(w, w.newCall(k, c, p), p, item("1.1", 10, 10))
		p = &part{deltas: []int64{-10}, entry: epoch, receipt: limit.Receipt{Generation: "1.1", Slots: [limit.MaxLimits]int64{epoch / int64(time.Second)}}}
		k.settle(w, w.newCall(k, c, p), p, item(test.generation, 10, 0))
		if got := k.room(c, time.Unix(0, epoch)); got != test.room {
			t.Errorf("10 units refunded in generation %s: room %v, want %v", test.generation, got, test.room)
		}
	}
}

func TestExpiryKeepsTheLog(t *testing.T) {
	w, k, c := small()
	p := &part{}
	k.charge(w, w.newCall(k, c, p), p, item("1.1", 4, 4))
	if err := w.table.Put(k.key, item("1.1", 4, 4)); err != nil {
		t.Fatal(err)
	}
	e, _ := w.queue.pop()
	if want := (epoch/int64(time.Second) + 3611) * int64(time.Second); e.at != want {
		t.Fatalf("the check for expiry is at %d, want %d: as soon as the ttl has passed", e.at, want)
	}
	w.now = e.at
	if e.do(); len(w.table.Keys()) != 0 || w.report.Expired != 1 {
		t.Error("the item still exists")
	}
	if k.room(&limit.Charge{Limits: c.Limits, Costs: []int64{7}}, time.Unix(0, epoch)) {
		t.Error("the log has lost the charges")
	}
}

func TestOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		applied int
		allowed bool
		err     error
		broken  bool
	}{
		"admitted and charged":       {1, true, nil, false},
		"admitted and not charged":   {0, true, nil, true},
		"admitted and charged twice": {2, true, nil, true},
		"denied and not charged":     {0, false, nil, false},
		"denied and charged":         {1, false, nil, true},
		"unknown and charged":        {1, false, errReset, false},
		"unknown and charged twice":  {2, false, errReset, true},
	} {
		w, k, c := small()
		p := &part{applied: test.applied}
		r := w.newCall(k, c, p).request
		r.err = test.err
		if k.checkOutcome(r, p, test.allowed); (len(w.report.Violations) > 0) != test.broken {
			t.Errorf("%s: %v", name, w.report.Violations)
		}
	}
}

func TestNeedlessDenials(t *testing.T) {
	for name, test := range map[string]struct {
		charged int64
		lowered time.Duration // time since the last refund
		late    time.Duration
		want    Needless
	}{
		"no room":         {8, 0, 0, Needless{}},
		"an old snapshot": {4, 9 * time.Second, 0, Needless{OldSnapshot: 1}},
		"a late clock":    {4, time.Hour, 2 * time.Second, Needless{LateClock: 1}},
		"no explanation":  {4, time.Hour, 0, Needless{Unexplained: 1}},
	} {
		w, k, c := small()
		k.charged[0].Take(&c.Limits[0], time.Unix(0, epoch), test.charged)
		k.lowered = w.now - int64(test.lowered)
		if k.deniedBySnapshot(w, time.Unix(0, epoch).Add(-test.late), c); w.report.Needless != test.want {
			t.Errorf("%s: %+v", name, w.report.Needless)
		}
	}
}

func TestFates(t *testing.T) {
	deadline := 250 * time.Millisecond
	for name, test := range map[string]struct {
		network Network
		dropped bool
		failure error
	}{
		"no fault":       {Network{}, false, nil},
		"throttled":      {Network{Throttled: 1}, true, dynamo.ErrThrottled},
		"in conflict":    {Network{Conflicts: 1}, true, nil},
		"lost request":   {Network{LostRequests: 1}, true, context.DeadlineExceeded},
		"lost answer":    {Network{LostAnswers: 1}, false, errReset},
		"stuck":          {Network{Stuck: 1, StuckFor: time.Minute}, false, context.DeadlineExceeded},
		"too slow":       {Network{Latency: deadline}, false, context.DeadlineExceeded},
		"past its share": {Network{Throttled: 1e-12}, false, nil},
	} {
		w, k, c := small()
		test.network.Deadline = deadline
		itemRead := w.newCall(k, c, &part{})
		itemRead.in = &dynamodb.UpdateItemInput{}
		f := test.network.draw(w, itemRead)
		if f.dropped != test.dropped || f.answer > epoch+int64(deadline) || f.answer < epoch || !f.dropped && f.effect < epoch {
			t.Errorf("%s: %+v", name, f)
		}
		if name == "stuck" != (f.effect > epoch+int64(deadline)) && name != "too slow" {
			t.Errorf("%s: takes effect %v after it was sent", name, time.Duration(f.effect-epoch))
		}
		if test.failure != nil && !errors.Is(dynamo.Translate(f.failure, "t"), test.failure) {
			t.Errorf("%s: %v, want %v", name, f.failure, test.failure)
		}
	}
}
