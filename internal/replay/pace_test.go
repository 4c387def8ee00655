package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/request"
)

// manual is a clock that moves when somebody sleeps.
type manual struct {
	now    time.Time
	slept  []time.Duration
	cancel context.CancelFunc // called by the first sleep, if there is one
}

func (c *manual) Now() time.Time { return c.now }

func (c *manual) Sleep(ctx context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	c.now = c.now.Add(d)
	if c.cancel != nil {
		c.cancel()
	}
	return ctx.Err()
}

func TestPace(t *testing.T) {
	log := requests("100 /", "100 /", "102 /", "101 /", "110.5 /")
	for _, tc := range []struct {
		name  string
		speed float64
		work  time.Duration // that each decision takes
		slept []time.Duration
	}{
		{name: "as fast as it goes", speed: 0},
		{name: "the log's own", speed: 1, slept: []time.Duration{2 * time.Second, 8500 * time.Millisecond}},
		{name: "ten times as fast", speed: 10, slept: []time.Duration{200 * time.Millisecond, 850 * time.Millisecond}},
		{name: "half as fast", speed: 0.5, slept: []time.Duration{4 * time.Second, 17 * time.Second}},
		{name: "work is no pause", speed: 1, work: time.Second, slept: []time.Duration{6500 * time.Millisecond}},
		{name: "too slow to keep up", speed: 10, work: time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := &manual{now: time.Unix(1_700_000_000, 0)}
			decide := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) {
				clock.now = clock.now.Add(tc.work)
				return &engine.Decision{Allowed: true}, nil
			})
			report, err := Run(t.Context(), []Log{text(log)}, Options{Engine: decide, Speed: tc.speed, Clock: clock})
			if err != nil || report.Requests != 5 {
				t.Fatalf("%d requests, error %v", report.Requests, err)
			}
			if diff := cmp.Diff(tc.slept, clock.slept); diff != "" {
				t.Error(diff)
			}
			if want := (5*tc.work + sum(tc.slept)).Seconds(); report.Elapsed != want {
				t.Errorf("elapsed %v, want %v", report.Elapsed, want)
			}
		})
	}
}

func sum(ds []time.Duration) (all time.Duration) {
	for _, d := range ds {
		all += d
	}
	return all
}

func TestPaceOfCenturies(t *testing.T) {
	clock := &manual{}
	log := requests("-9223372036 /", "9223372036 /")
	if _, err := Run(t.Context(), []Log{text(log)}, Options{Engine: allowAll(new([]string)), Speed: 1e-300, Clock: clock}); err != nil {
		t.Fatal(err)
	}
	if len(clock.slept) != 1 || clock.slept[0] < 100*365*24*time.Hour {
		t.Errorf("slept %v", clock.slept)
	}
}

func TestInterruptionOfASleep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clock := &manual{cancel: cancel}
	report, err := Run(ctx, []Log{text(strings.Repeat(requests("1 /", "5 /"), 2))}, Options{Engine: allowAll(new([]string)), Speed: 1, Clock: clock})
	if !errors.Is(err, context.Canceled) || report.Requests != 1 {
		t.Errorf("%d requests, error %v; want 1, interrupted", report.Requests, err)
	}
}

func TestRealClock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := (RealClock{}).Sleep(ctx, time.Nanosecond); err != nil {
		t.Error(err)
	}
	cancel()
	if err := (RealClock{}).Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
