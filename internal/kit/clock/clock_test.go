package clock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

var epoch = time.Unix(1_700_000_000, 0)

// TestProcess is a table of readings: both clocks of the machine, the time of
// the process, and the step that it reports, if any.
func TestProcess(t *testing.T) {
	type moment struct{ wall, mono, want, step time.Duration }
	const s, ms = time.Second, time.Millisecond
	for name, trace := range map[string][]moment{
		"a healthy machine":     {{5 * s, 5 * s, 5 * s, 0}, {time.Hour, time.Hour, time.Hour, 0}},
		"set back by an hour":   {{5 * s, 5 * s, 5 * s, 0}, {6*s - time.Hour, 6 * s, 6 * s, -time.Hour}, {7*s - time.Hour, 7 * s, 7 * s, 0}},
		"set forward and back":  {{time.Hour, s, s, time.Hour - s}, {2 * s, 2 * s, 2 * s, s - time.Hour}},
		"the machine slept":     {{10 * s, 10 * s, 10 * s, 0}, {3 * time.Hour, 11 * s, 11 * s, 3*time.Hour - 11*s}},
		"paused between clocks": {{10 * s, 10*s + 999*ms, 10*s + 999*ms, 0}, {11 * s, 11 * s, 11 * s, 0}},
		"just a step":           {{11 * s, 10 * s, 10 * s, s}, {11*s + 999*ms, 10 * s, 10 * s, 0}, {12 * s, 10 * s, 10 * s, s}},
		"slow drift is a step each time it adds up to a second": {
			{1000*s + 600*ms, 1000 * s, 1000 * s, 0}, {2000*s + 1200*ms, 2000 * s, 2000 * s, 1200 * ms}, {3000*s + 1800*ms, 3000 * s, 3000 * s, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := clock.Reading{Wall: epoch, Mono: time.Minute}
			var steps []clock.Step
			process := clock.NewProcess(func() clock.Reading { return at }, func(s clock.Step) { steps = append(steps, s) })
			for i, m := range trace {
				steps, at = nil, clock.Reading{Wall: epoch.Add(m.wall), Mono: time.Minute + m.mono}
				if got := process.Now().Sub(epoch); got != m.want {
					t.Errorf("moment %d: %v after the start, want %v", i, got, m.want)
				}
				var want []clock.Step
				if m.step != 0 {
					want = []clock.Step{{By: m.step}}
				}
				if !slices.Equal(steps, want) {
					t.Errorf("moment %d: reported %v, want %v", i, steps, want)
				}
			}
		})
	}
}

// TestStepIsReportedOnce: a thousand concurrent requests report one step.
func TestStepIsReportedOnce(t *testing.T) {
	var mu sync.Mutex
	var steps int
	ahead := time.Duration(0)
	process := clock.NewProcess(
		func() clock.Reading { return clock.Reading{Wall: epoch.Add(ahead)} },
		func(clock.Step) { mu.Lock(); steps++; mu.Unlock() },
	)
	ahead = time.Hour
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() { process.Now() })
	}
	wg.Wait()
	if steps != 1 {
		t.Errorf("%d reports of one step", steps)
	}
}

// TestMachine reads the real clocks. The wall clock's time must have no
// monotonic reading (it would print as m=), which Sub and Before would prefer.
func TestMachine(t *testing.T) {
	machine := clock.Machine(time.Now)
	first, second := machine(), machine()
	if first.Mono < 0 || second.Mono < first.Mono || time.Since(first.Wall) > time.Minute {
		t.Errorf("%v, then %v", first, second)
	}
	if text := first.Wall.String(); strings.Contains(text, "m=") {
		t.Errorf("the wall clock's time is %s", text)
	}
}

func TestDrift(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 0, 1: 1, 5000: 1, 5001: 2, time.Second: 200 * time.Microsecond, -5001: 2, 10_000 * time.Second: 2 * time.Second,
	} {
		if got := clock.Drift(elapsed); got != want {
			t.Errorf("in %v: %v, want %v", elapsed, got, want)
		}
	}
}

// TestMonotonic: limiters count by the machine's monotonic clock. A time that
// was read from the wall clock would show its monotonic part.
func TestMonotonic(t *testing.T) {
	now := clock.Monotonic()
	first, before := now(), time.Now()
	if first != first.Round(0) {
		t.Errorf("%v is a reading of the wall clock", first)
	}
	for time.Since(before) < time.Millisecond {
	}
	if passed := now().Sub(first); passed < time.Millisecond {
		t.Errorf("%v have passed, want 1ms at least", passed)
	}
}

// TestSleep: a sleep ends on time, or when its context ends.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := clock.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("a sleep of a minute took %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := clock.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("a sleep of a minute within a second took %v: %v", time.Since(start), err)
		}
		for _, d := range []time.Duration{0, -time.Second} {
			if err := clock.Sleep(ctx, d); err != nil {
				t.Errorf("Sleep(%v) after the end of its context: %v, want no error", d, err)
			}
		}
	})
}
