package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
)

func TestPace(t *testing.T) {
	log := requests("100 /", "100 /", "102 /", "101 /", "110.5 /")
	for _, tc := range []struct {
		name    string
		order   logs.Order
		speed   float64
		work    time.Duration // that each decision takes
		decided []float64     // seconds after the start
	}{
		{name: "as fast as possible", order: logs.AsLogged, speed: 0, decided: []float64{0, 0, 0, 0, 0}},
		{name: "the log's own", order: logs.AsLogged, speed: 1, decided: []float64{0, 0, 2, 2, 10.5}},
		{name: "by time", order: logs.ByTime, speed: 1, decided: []float64{0, 0, 1, 2, 10.5}},
		{name: "ten times as fast", order: logs.AsLogged, speed: 10, decided: []float64{0, 0, 0.2, 0.2, 1.05}},
		{name: "half as fast", order: logs.AsLogged, speed: 0.5, decided: []float64{0, 0, 4, 4, 21}},
		{name: "work is no pause", order: logs.AsLogged, speed: 1, work: time.Second, decided: []float64{0, 1, 2, 3, 10.5}},
		{name: "too slow to keep up", order: logs.AsLogged, speed: 10, work: time.Second, decided: []float64{0, 1, 2, 3, 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var decided []float64
			start := time.Now()
			decide := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) {
				decided = append(decided, time.Since(start).Seconds())
				time.Sleep(tc.work)
				return &engine.Decision{Allowed: true}, nil
			})
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}, Order: tc.order}, Options{Engine: decide, Speed: tc.speed})
			if err != nil || report.Requests != 5 {
				t.Fatalf("%s: %d requests, error %v", tc.name, report.Requests, err)
			}
			if diff := cmp.Diff(tc.decided, decided); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
			if want := tc.decided[4] + tc.work.Seconds(); report.Elapsed != want {
				t.Errorf("%s: elapsed %v, want %v", tc.name, report.Elapsed, want)
			}
		})
	}
}

func TestPaceOfCenturies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		log := requests("-1262304000 /", "7258118399 /")
		if _, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log)}}, Options{Engine: allowAll(new([]string)), Speed: 1e-300}); err != nil {
			t.Fatal(err)
		}
		if slept := time.Since(start); slept < 100*365*24*time.Hour {
			t.Errorf("slept %v", slept)
		}
	})
}

func TestInterruptionOfASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		log := text(strings.Repeat(requests("1 /", "5 /"), 2))
		report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{log}, Order: logs.AsLogged}, Options{Engine: allowAll(new([]string)), Speed: 1})
		if !errors.Is(err, context.Canceled) || report.Requests != 1 || time.Since(start) != time.Second {
			t.Errorf("%d requests, error %v after %v; want 1, interrupted after 1s", report.Requests, err, time.Since(start))
		}
	})
}
