package app_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
)

// TestLocalInAGateway charges a limit of one a minute at times by both clocks of the
// machine. It counts by the clock of the process: no step of the wall clock ends a
// window or prolongs it.
func TestLocalInAGateway(t *testing.T) {
	const second, hour = time.Second, time.Hour
	type moment struct {
		wall, mono time.Duration
		allowed    bool
	}
	for name, trace := range map[string][]moment{
		"an hour back":    {{0, 0, true}, {second - hour, second, false}, {62*second - hour, 62 * second, true}},
		"an hour forward": {{0, 0, true}, {second + hour, second, false}, {62*second + hour, 62 * second, true}},
	} {
		epoch := time.Unix(1_700_000_000, 0)
		at := clock.Reading{Wall: epoch}
		process := clock.NewProcess(func() clock.Reading { return at }, func(clock.Step) {})
		store := app.NewLocal(process.Now)
		for i, m := range trace {
			at = clock.Reading{Wall: epoch.Add(m.wall), Mono: m.mono}
			c := limit.Charge{Key: "k", Limits: []limit.Limit{{Capacity: 1, Window: time.Minute, Granularity: second}}, Costs: []int64{1}}
			var v limit.Verdict
			if err := store.Charge(t.Context(), at.Wall, &c, &v); err != nil || v.Allowed != m.allowed {
				t.Errorf("%s: request %d: allowed %v, %v; want %v", name, i, v.Allowed, err, m.allowed)
			}
		}
	}
}

// TestLocalPlaces renews a place in flight by the clock of the process, though the
// wall clock was set back by an hour: it ends a minute after the renewal.
func TestLocalPlaces(t *testing.T) {
	epoch := time.Unix(1_700_000_000, 0)
	now := epoch
	store := app.NewLocal(func() time.Time { return now })
	charge := func(id uint64) (*limit.Charge, *limit.Verdict) {
		c := &limit.Charge{
			Key: "k", Limits: []limit.Limit{{Algorithm: limit.InFlight, Capacity: 1, Window: time.Minute}}, Costs: []int64{1},
			Hold: limit.Opening{ID: id, For: time.Minute, Most: 1},
		}
		v := &limit.Verdict{}
		if err := store.Charge(t.Context(), now.Add(-time.Hour), c, v); err != nil {
			t.Fatal(err)
		}
		return c, v
	}
	c, v := charge(1)
	now = epoch.Add(30 * time.Second)
	if err := store.Renew(t.Context(), now.Add(-time.Hour), c, &v.Receipt); err != nil {
		t.Fatal(err)
	}
	for id, allowed := range []bool{false, true} {
		now = epoch.Add(time.Duration(80+20*id) * time.Second)
		if _, v := charge(uint64(2 + id)); v.Allowed != allowed {
			t.Errorf("after %v: allowed %v, want %v", now.Sub(epoch), v.Allowed, allowed)
		}
	}
}
