package replay

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

var errDown = errors.New("the table is on fire")

// pattern returns a store that fails for each x of a repeated pattern.
func pattern(repeated string) *fakestore.Store {
	calls := 0
	return fakestore.New(func(*fakestore.Call) error {
		calls++
		if repeated[(calls-1)%len(repeated)] == 'x' {
			return errDown
		}
		return nil
	})
}

func TestOutage(t *testing.T) {
	const document = "rules: [{name: all, key: all, limits: [{capacity: 1000, window: 60s}]}]\ndefaults: {on_error: allow}"
	for _, tc := range []struct {
		name, pattern      string
		lines              int
		requests, degraded int64
		err                error
	}{
		{name: "none", pattern: ".", lines: 30, requests: 30},
		{name: "now and then", pattern: "...x", lines: 40, requests: 40, degraded: 10},
		{name: "nine running", pattern: "xxxxxxxxx.", lines: 30, requests: 30, degraded: 27},
		{name: "ten running", pattern: ".xxxxxxxxxx....", lines: 30, requests: 11, degraded: 10, err: ErrOutage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var failures Failures
			e, _ := newEngine(t, document, pattern(tc.pattern), &failures)
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(strings.Repeat(requests("1 /"), tc.lines))}}, Options{Engine: e})
			if !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
			if report.Requests != tc.requests || report.Degraded != tc.degraded || report.Allowed != tc.requests {
				t.Errorf("%d requests, %d degraded, %d allowed; want %d, %d", report.Requests, report.Degraded, report.Allowed, tc.requests, tc.degraded)
			}
			first := failures.First()
			if tc.degraded == 0 && first != nil || tc.degraded > 0 && !errors.Is(first, errDown) {
				t.Errorf("the first failure is %v", first)
			}
		})
	}
}

func TestFailuresKeepTheFirst(t *testing.T) {
	var f Failures
	f.StoreFailed(t.Context(), "on_error: local", "per-ip", "ip:::1", errDown)
	f.StoreFailed(t.Context(), "refund", "other", "k", io.EOF)
	if got, want := message(f.First()), "rule per-ip, key ip:::1: on_error: local: the table is on fire"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// fullDisk fails after room bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errDown
	}
	return len(p), nil
}

func TestDecisionsThatCannotBeWritten(t *testing.T) {
	for name, lines := range map[string]int{"at the end": 1, "on the way": 5000} {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(t, twoRules, fakestore.New(nil), &Failures{})
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(strings.Repeat(requests("1 /"), lines))}}, Options{Engine: e, Decisions: &fullDisk{}})
			if !errors.Is(err, errDown) || !strings.HasPrefix(message(err), "writing decisions: ") {
				t.Errorf("error %v", err)
			}
			if report.Requests == 0 || lines > 1 && report.Requests == int64(lines) {
				t.Errorf("%d requests of %d", report.Requests, lines)
			}
		})
	}
}

// The end of the context does not break off a decision: the request might stay
// charged and not be counted in the report.
func TestInterruptionLeavesADecisionAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	decide := contextDecider(func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{text(requests("1 /", "2 /"))}}, Options{Engine: decide})
	if !errors.Is(err, context.Canceled) || report.Requests != 1 {
		t.Errorf("%d requests, error %v; want 1, interrupted", report.Requests, err)
	}
}

type contextDecider func(context.Context) error

func (f contextDecider) Decide(ctx context.Context, _ time.Time, _ *request.Request) (*engine.Decision, error) {
	return &engine.Decision{Allowed: true}, f(ctx)
}

// The end of the context ends a read that waits for a terminal or for tail -f.
func TestInterruptionOfAWaitingRead(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	decide := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) {
		cancel()
		return &engine.Decision{Allowed: true}, nil
	})
	go io.WriteString(out, requests("1 /", "2 /")+`{"time`)
	report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{logs.Stream("pipe", in, logs.JSONL)}, Order: logs.AsLogged}, Options{Engine: decide})
	if !errors.Is(err, context.Canceled) || report.Requests != 1 {
		t.Errorf("%d requests, error %v; want 1, interrupted", report.Requests, err)
	}
}

func TestInterruptionBeforeAnythingArrives(t *testing.T) {
	for _, order := range []logs.Order{logs.ByTime, logs.AsLogged} {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			defer out.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{logs.Stream("pipe", in, logs.JSONL)}, Order: order}, Options{Engine: allowAll(new([]string))})
			if !errors.Is(err, context.DeadlineExceeded) || report.Requests != 0 {
				t.Errorf("%s: %d requests, error %v; want 0, interrupted", order, report.Requests, err)
			}
		})
	}
}
