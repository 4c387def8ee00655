package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// moment is a charge of one unit of one a minute, at a time by both clocks of
// the machine.
type moment struct {
	wall, mono time.Duration
	allowed    bool
}

// charge reports whether a store allows the charge at the moment.
func charge(t *testing.T, store limit.Store, now time.Time) bool {
	t.Helper()
	c := limit.Charge{
		Key: "k", Limits: []limit.Limit{{Capacity: 1, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{1},
	}
	var v limit.Verdict
	if err := store.Charge(context.Background(), now, &c, &v); err != nil {
		t.Fatal(err)
	}
	return v.Allowed
}

const second, hour = time.Second, time.Hour

var epoch = time.Unix(1_700_000_000, 0)

// TestLocalInAGateway counts by the clock of the process: no step of the wall
// clock ends a window or prolongs it.
func TestLocalInAGateway(t *testing.T) {
	for name, trace := range map[string][]moment{
		"an hour back":    {{0, 0, true}, {second - hour, second, false}, {62*second - hour, 62 * second, true}},
		"an hour forward": {{0, 0, true}, {second + hour, second, false}, {62*second + hour, 62 * second, true}},
	} {
		at := clock.Reading{Wall: epoch}
		process := clock.NewProcess(func() clock.Reading { return at }, func(clock.Step) {})
		store := app.NewLocal(process.Now)
		for i, m := range trace {
			at = clock.Reading{Wall: epoch.Add(m.wall), Mono: m.mono}
			if got := charge(t, store, at.Wall); got != m.allowed {
				t.Errorf("%s: request %d: allowed %v, want %v", name, i, got, m.allowed)
			}
		}
	}
}

// TestLocalInALambda counts by the time of the decisions while DynamoDB is
// away.
func TestLocalInALambda(t *testing.T) {
	for name, trace := range map[string][]moment{
		"frozen for an hour, the window ends": {{0, 0, true}, {second, second, false}, {hour, 2 * second, true}},
		"an hour back, the window goes on":    {{0, 0, true}, {second - hour, second, false}, {62*second - hour, 62 * second, true}},
		"an hour forward, the window ends":    {{0, 0, true}, {second + hour, second, true}, {2*second + hour, 2 * second, false}},
		"forward and back":                    {{0, 0, true}, {second + hour, second, true}, {2 * second, 2 * second, false}, {63 * second, 63 * second, true}},
	} {
		at := clock.Reading{Wall: epoch}
		corrected, store := dynamo.NewClock(func() clock.Reading { return at }), memory.New(0)
		for i, m := range trace {
			at = clock.Reading{Wall: epoch.Add(m.wall), Mono: m.mono}
			if got := charge(t, store, corrected.Now()); got != m.allowed {
				t.Errorf("%s: request %d: allowed %v, want %v", name, i, got, m.allowed)
			}
		}
	}
}
