package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// small returns a world of one counter of 10 units in 10 slots of a second, at
// the epoch. Nothing in it happens on its own.
func small() (*world, *counter, *limit.Charge) {
	w := &world{
		plan: &Plan{Network: Network{Latency: time.Millisecond, Deadline: 250 * time.Millisecond}}, now: epoch, report: NewReport(),
		random: random{rand.New(rand.NewPCG(1, 1))}, table: dynamomodel.New(tableName, "k"), counters: map[string]*counter{},
	}
	limits := []limit.Limit{{Capacity: 10, Window: 10 * time.Second, Granularity: time.Second}}
	k := w.newCounter(&subject{Subject: &Subject{}}, limits)
	return w, k, &limit.Charge{Key: k.key, Limits: limits, Costs: []int64{4}}
}

func (w *world) newCall(k *counter, c *limit.Charge, p *part) *call {
	p.counter, p.charge = k, *c
	e := &environment{world: w, number: 1}
	return &call{environment: e, request: &request{world: w, environment: e, parts: []*part{p}, now: time.Unix(0, w.now), trueNow: w.now}}
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
		want    string // empty for none
	}{
		"no room":         {8, 0, 0, ""},
		"an old snapshot": {4, 9 * time.Second, 0, "needless, an old snapshot"},
		"a late clock":    {4, time.Hour, 2 * time.Second, "needless, a late clock"},
		"no explanation":  {4, time.Hour, 0, "needless, unexplained"},
	} {
		w, k, c := small()
		k.charged[0].Take(&c.Limits[0], time.Unix(0, epoch), test.charged)
		k.lowered = w.now - int64(test.lowered)
		k.deniedBySnapshot(w, time.Unix(0, epoch).Add(-test.late), c)
		for counted, n := range w.report.Counts {
			if needless := strings.HasPrefix(counted, "needless"); needless && (n == 1) != (counted == test.want) {
				t.Errorf("%s: %s %d", name, counted, n)
			}
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
