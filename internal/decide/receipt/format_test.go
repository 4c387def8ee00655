package receipt

import (
	"errors"
	"hash/maphash"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestBounds reads receipts whose form is right and whose contents no authorizer
// states.
func TestBounds(t *testing.T) {
	now, latest := time.Unix(1_700_000_040, 0), time.Unix(0, farthest)
	for name, test := range map[string]struct {
		at   time.Time
		edit func(p *engine.Pending)
		ok   bool
	}{
		"usual":                           {now, func(*engine.Pending) {}, true},
		"the latest time":                 {latest, func(*engine.Pending) {}, true},
		"a later time":                    {latest.Add(1), func(*engine.Pending) {}, false},
		"a slot after the latest time":    {latest, func(p *engine.Pending) { p.Receipt.Slots[0]++ }, false},
		"a slot before the earliest time": {time.Unix(0, -farthest), func(p *engine.Pending) { p.Receipt.Slots[0]-- }, false},
		"a serial number of 0":            {now, func(p *engine.Pending) { p.Receipt.Generation = "mark#0" }, false},
		"a serial number in letters":      {now, func(p *engine.Pending) { p.Receipt.Generation = "mark#x" }, false},
		"a window of odd slots":           {now, func(p *engine.Pending) { p.Charge.Limits[0].Granularity = 7 * time.Second }, false},
		"a capacity of 0":                 {now, func(p *engine.Pending) { p.Charge.Limits[0].Capacity = 0 }, false},
		"a bucket that does not settle":   {now, func(p *engine.Pending) { p.Charge.Limits[0], p.MaxCosts[0] = bucket, engine.Unsettled }, true},
		"a bucket that settles":           {now, func(p *engine.Pending) { p.Charge.Limits[0] = bucket }, false},
		"a hold":                          {now, hold(90*time.Second, 90_000), true},
		"a hold of days":                  {now, hold(48*time.Hour, 90_000), false},
		"a hold that ends in days":        {now, hold(90*time.Second, 172_800_000), false},
		"a hold that ends in the margin":  {now, hold(90*time.Second, -3_000), true},
		"a hold that has ended":           {now, hold(90*time.Second, -3_001), false},
		"no key":                          {now, func(p *engine.Pending) { p.Charge.Key = "" }, false},
		"no limit":                        {now, func(p *engine.Pending) { p.Charge.Limits, p.Charge.Costs = nil, nil }, false},
	} {
		window := limit.Limit{Capacity: 9, Window: time.Minute, Granularity: time.Second}
		p := &engine.Pending{Rule: "r", Charge: limit.Charge{Key: "r|k|s", Limits: []limit.Limit{window}, Costs: []int64{1}}}
		p.Receipt.Generation, p.Receipt.Slots[0], p.MaxCosts[0] = "mark", window.SlotAt(test.at), 5
		test.edit(p)
		r, err := decode(appendPending(appendHead(nil, test.at, 1, []engine.Pending{*p}), p, test.at))
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
}

// hold has a charge open a hold, which ends some milliseconds after the decision.
func hold(length time.Duration, end int64) func(*engine.Pending) {
	return func(p *engine.Pending) {
		p.Receipt.Hold, p.Receipt.Until, p.Charge.Hold.For = math.MaxUint64, 1_700_000_040_000+end, length
	}
}

var bucket = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 9, Window: time.Minute, Burst: 9}

// TestFinishTime: a correction has the time of the decision, and what has passed
// since by the backend's clock. A clock that was set back has let no time pass.
func TestFinishTime(t *testing.T) {
	decided := time.Unix(1_700_000_040, 0)
	for passed, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, -time.Hour: 0} {
		store := fakestore.New(nil)
		p := engine.Pending{Charge: limit.Charge{Key: "r|k|s", Limits: []limit.Limit{{Capacity: 9, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{1}}}
		p.MaxCosts[0] = 5
		taken := decided.Add(time.Minute)
		settler := NewSettler(store, nil, nil)
		r, err := settler.once(&Receipt{Time: decided, Pending: []engine.Pending{p}}, "receipt", taken, nil)
		if err != nil {
			t.Fatal(err)
		}
		settler.Finish(t.Context(), taken.Add(passed), r, &engine.Outcome{Aborted: true})
		if settled := store.Calls(fakestore.Settle); len(settled) != 1 || !settled[0].Now.Equal(decided.Add(want)) {
			t.Errorf("%v later: %+v, want a settlement at %v", passed, settled, decided.Add(want))
		}
	}
}

// TestUsed remembers the last receipts, and not many more.
func TestUsed(t *testing.T) {
	u := used{seed: maphash.MakeSeed()}
	const all = 2*remembered + remembered/2
	for n := range all {
		if !u.add(strconv.Itoa(n)) {
			t.Fatalf("receipt %d was used before", n)
		}
	}
	for n := all - remembered; n < all; n++ {
		if u.add(strconv.Itoa(n)) {
			t.Fatalf("receipt %d is forgotten", n)
		}
	}
	if kept := len(u.now) + len(u.last); kept > 2*remembered {
		t.Errorf("%d receipts are kept", kept)
	}
}
