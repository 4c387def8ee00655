package outage

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// small returns a world of one counter, in which nothing happens on its own, and
// a request at the epoch.
func small() (*world, *request) {
	w := &world{
		plan: &Plan{}, now: epoch, report: NewReport(),
		random: random{rand.New(rand.NewPCG(1, 1))}, counters: map[string]*counter{},
	}
	return w, &request{world: w, counter: w.newCounter(0), trueNow: epoch}
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
		w, r := small()
		r.applied, r.err = test.applied, test.err
		if r.checkOutcome(test.allowed); (len(w.report.Violations) > 0) != test.broken {
			t.Errorf("%s: %v", name, w.report.Violations)
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
		"lost request":   {Network{LostRequests: 1}, true, context.DeadlineExceeded},
		"lost answer":    {Network{LostAnswers: 1}, false, errReset},
		"stuck":          {Network{Stuck: 1, StuckFor: time.Minute}, false, context.DeadlineExceeded},
		"too slow":       {Network{Latency: deadline}, false, context.DeadlineExceeded},
		"past its share": {Network{Throttled: 1e-12}, false, nil},
	} {
		w, r := small()
		test.network.Deadline = deadline
		f := test.network.draw(w, &call{request: r})
		inTime := epoch <= f.answer && f.answer <= epoch+int64(deadline)
		if f.dropped != test.dropped || !inTime || !f.dropped && f.effect < epoch {
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
