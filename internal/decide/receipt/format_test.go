package receipt

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
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
		"a hold that ends in days":        {now, hold(90*time.Second, 172_800_001), false},
		"a hold that ended days ago":      {now, hold(90*time.Second, -172_800_001), false},
		"a hold by the store's own clock": {now, hold(90*time.Second, -3_600_000), true},
		"no key":                          {now, func(p *engine.Pending) { p.Charge.Key = "" }, false},
		"weights":                         {now, func(p *engine.Pending) { p.Weights[0] = rules.Weights{"in": 0, "out": rules.MaxWeight} }, true},
		"a weight that is too high":       {now, func(p *engine.Pending) { p.Weights[0] = rules.Weights{"in": rules.MaxWeight + 1} }, false},
		"a negative weight":               {now, func(p *engine.Pending) { p.Weights[0] = rules.Weights{"in": -1} }, false},
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
		if err == nil && !reflect.DeepEqual(r.Pending[0].Weights, p.Weights) {
			t.Errorf("%s: read the weights %v, written as %v", name, r.Pending[0].Weights, p.Weights)
		}
	}
}

// TestVersions: a receipt of another version is refused.
func TestVersions(t *testing.T) {
	data := appendHead(nil, time.Unix(1_700_000_040, 0), 1, nil)
	data[0] = 1
	if _, err := decode(data); err == nil || err.Error() != "the receipt is malformed: it has version 1, and this program reads version 2" {
		t.Error(err)
	}
}

// TestRefusedUsage: usage that cannot settle one charge of a receipt settles none, and
// the observer learns of it.
func TestRefusedUsage(t *testing.T) {
	decided := time.Unix(1_700_000_040, 0)
	for name, want := range map[string]int{"in": 2, "on": 0} {
		store, failed := fakestore.New(nil), &failures{}
		var all []engine.Pending
		for _, rule := range []string{"free", "chat"} {
			p := engine.Pending{Rule: rule, Charge: limit.Charge{Key: rule + "|user:7|s", Limits: []limit.Limit{{Capacity: 9, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{1}}}
			p.MaxCosts[0], p.Weights[0] = 5, rules.Weights{"in": rules.Millionths}
			all = append(all, p)
		}
		all[0].Weights[0] = rules.Weights{rules.OtherUsage: rules.Millionths}
		settler := NewSettler(store, nil, failed)
		r, err := settler.once(&Receipt{Time: decided, Pending: all}, "receipt", decided, nil)
		if err != nil {
			t.Fatal(err)
		}
		settler.Finish(t.Context(), decided, r, &engine.Outcome{Usage: map[string]int64{name: 3}})
		told := strings.Join(failed.told, "; ")
		if got := store.Count(fakestore.Settle); got != want || want == 0 && !strings.HasPrefix(told, `settle chat user:7: limit chat: usage "on" has no weight`) {
			t.Errorf("usage of %s: %d settlements, reported %q", name, got, told)
		}
	}
}

// failures records what an observer is told.
type failures struct {
	engine.NoObserver
	mu   sync.Mutex
	told []string
}

func (f *failures) StoreFailed(_ context.Context, action, rule, key string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf("%s %s %s: %v", action, rule, key, err))
}

// hold has a charge open a hold, which ends some milliseconds after the decision.
func hold(length time.Duration, end int64) func(*engine.Pending) {
	return func(p *engine.Pending) {
		p.Receipt.Hold, p.Receipt.Until, p.Charge.Hold.For = math.MaxUint64, 1_700_000_040_000+end, length
		p.Receipt.Opened = p.Receipt.Until
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
