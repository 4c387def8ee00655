package slidegate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limittest"
)

// TestObservers: all observers get each event, in the order of the options.
func TestObservers(t *testing.T) {
	var got []string
	note := func(name string) slidegate.Option {
		return slidegate.WithObserver(func(_ context.Context, e slidegate.Event) { got = append(got, name+" "+e.Key) })
	}
	lim := newLimiter(t, slidegate.FixedWindow(2, time.Hour), note("metrics"), note("log"))
	if _, err := lim.Allow(t.Context(), "k"); err != nil || !slices.Equal(got, []string{"metrics k", "log k"}) {
		t.Error(got, err)
	}
}

// TestEvents: an observer gets each decision, and each failure before the
// decision that survives it.
func TestEvents(t *testing.T) {
	count, fail := limittest.Count(), limittest.Fail(errDown)
	for _, test := range []struct {
		name   string
		policy slidegate.Option
		script []limittest.Answer
		want   []string
	}{
		{"a store that works", slidegate.FailOpen(), []limittest.Answer{count}, []string{
			"api k limited: allowed, 1 left", "api k limited: allowed, 0 left", "api k limited: denied, 0 left, retry 1h0m0s",
		}},
		{"FailOpen", slidegate.FailOpen(), []limittest.Answer{count, fail, count}, []string{
			"api k limited: allowed, 1 left",
			"api k on_error: allow: connection refused", "api k limited: allowed, 0 left, degraded",
			"api k limited: allowed, 0 left",
		}},
		{"FailClosed", slidegate.FailClosed(), []limittest.Answer{fail, count}, []string{
			"api k on_error: deny: connection refused", "api k limited: denied, 0 left, retry 1s, degraded",
			"api k limited: allowed, 1 left", "api k limited: allowed, 0 left",
		}},
		{"FailLocal", slidegate.FailLocal(1), []limittest.Answer{fail, count}, []string{
			"api k on_error: local: connection refused", "api k limited: allowed, 1 left, degraded",
			"api k limited: allowed, 1 left", "api k limited: allowed, 0 left",
		}},
		{"FailError", slidegate.FailError(), []limittest.Answer{fail, count}, []string{
			"api k charge: connection refused", "api k limited: allowed, 1 left", "api k limited: allowed, 0 left",
		}},
	} {
		clock, withClock := stopped()
		var recorder limittest.Recorder
		lim := newLimiter(t, slidegate.FixedWindow(2, time.Hour), named, quiet, withClock, withStore(test.script...),
			test.policy, slidegate.WithObserver(recorder.Observe))
		for range 3 {
			_, _ = lim.Allow(t.Context(), "k")
		}
		_, _ = lim.Peek(t.Context(), "k") // is no decision
		var got []string
		for _, e := range recorder.Events() {
			what := describe(e.Result)
			if e.Err != nil {
				what = e.Err.Error()
			}
			got = append(got, fmt.Sprintf("%s %s %s: %s", e.Rule, e.Key, string(e.Reason)+string(e.Action), what))
			if e.Shadow || !e.Time.Equal(clock.Now()) {
				t.Errorf("%s: %+v", test.name, e)
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

// TestFailureLog: an outage gives a line in ten seconds, with the number of those
// that were suppressed. An error that the caller gets is not logged too.
func TestFailureLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		options := []slidegate.Option{slidegate.FixedWindow(100, time.Hour), named, withStore(limittest.Fail(errDown)), slidegate.WithLogger(log)}
		lim := newLimiter(t, options...)
		for range 22 {
			if _, err := lim.Allow(t.Context(), "user:7"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		const line = `level=ERROR msg="store failed" action="on_error: local" rule=api key=user:7 error="connection refused" local="5 per 1h in this process"`
		if want := line + "\n" + line + " suppressed=9\n" + line + " suppressed=9\n"; text.String() != want {
			t.Errorf("the log is\n%s\nwant\n%s", text.String(), want)
		}

		text.Reset()
		lim = newLimiter(t, append(options, slidegate.FailError())...)
		_, err := lim.Allow(t.Context(), "user:7")
		if _, reserved := lim.Reserve(t.Context(), "user:7"); !errors.Is(err, errDown) || !errors.Is(reserved, errDown) {
			t.Error(err, reserved)
		}
		if text.Len() > 0 {
			t.Errorf("the log is\n%s", text.String())
		}
	})
}

var errDown = errors.New("connection refused")

// withStore returns options for a limiter on a store that answers as scripted.
func withStore(script ...limittest.Answer) slidegate.Option {
	return slidegate.WithStore(limittest.NewStore(script...))
}

var (
	named = slidegate.WithName("api")
	quiet = slidegate.WithLogger(slog.New(slog.DiscardHandler))
)

// TestErrorPolicies: what a request gets while the store fails in three ways.
func TestErrorPolicies(t *testing.T) {
	policies := map[string]slidegate.Option{
		"open": slidegate.FailOpen(), "closed": slidegate.FailClosed(), "error": slidegate.FailError(),
		"local": slidegate.FailLocal(20), "local, alone": slidegate.FailLocal(1),
	}
	down, undecided, hang := limittest.Fail(errDown), limittest.Undecided(), limittest.Hang()
	for _, test := range []struct {
		policy string
		answer limittest.Answer
		n      int64
		want   string // result or error
	}{
		{"open", down, 1, "allowed, 0 left, degraded"},
		{"open", undecided, 1, "allowed, 0 left, degraded"},
		{"open", hang, 1, "allowed, 0 left, degraded"},
		{"open", down, 1000, "allowed, 0 left, degraded"}, // more than the limit holds
		{"closed", down, 1, "denied, 0 left, retry 1s, degraded"},
		{"closed", undecided, 1, "denied, 0 left, retry 1s, degraded"},
		{"closed", hang, 1, "denied, 0 left, retry 1s, degraded"},
		{"closed", down, 0, "allowed, 0 left, degraded"}, // zero units are always allowed
		{"error", down, 1, "slidegate: limiter api: connection refused"},
		{"error", undecided, 1, "slidegate: limiter api: limittest: the store cannot take the charge now"},
		{"error", hang, 1, "slidegate: limiter api: context deadline exceeded"},
		{"local", down, 1, "allowed, 4 left, degraded"}, // a twentieth of 100 units
		{"local", hang, 1, "allowed, 4 left, degraded"},
		{"local", down, 50, "allowed, 0 left, degraded"}, // at least one request
		{"local", down, 101, "denied, 100 left, retry never, degraded"},
		{"local", undecided, 1, "denied, 0 left, retry 1s, degraded"}, // it is no outage
		{"local, alone", down, 1, "allowed, 99 left, degraded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, slidegate.FixedWindow(100, time.Hour), named, quiet, withStore(test.answer),
				policies[test.policy], slidegate.WithDeadline(70*time.Millisecond))
			start := time.Now()
			r, err := lim.AllowN(t.Context(), "k", test.n)
			got := describe(r)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s: %d units: %s; want %s", test.policy, test.n, got, test.want)
			}
			took := map[bool]time.Duration{true: 70 * time.Millisecond}[test.answer == hang]
			if time.Since(start) != took {
				t.Errorf("%s: took %v; want %v", test.policy, time.Since(start), took)
			}
		})
	}
}

// TestFailLocalCounts: each process counts its share, and the store again once
// it answers.
func TestFailLocalCounts(t *testing.T) {
	_, withClock := stopped()
	store := limittest.NewStore(limittest.Count())
	lim := newLimiter(t, slidegate.FixedWindow(6, time.Hour).WithName("z"), slidegate.TokenBucket(4, time.Hour, 0).WithName("a"),
		named, quiet, withClock, slidegate.WithStore(store), slidegate.FailLocal(2))
	for i, step := range []struct {
		fails bool
		want  string
	}{
		{false, "allowed, 3 left"},
		{true, "allowed, 1 left, degraded"}, // of 3 and 2
		{true, "allowed, 0 left, degraded"},
		{true, "denied, 0 left, retry 30m0s, degraded"},
		{false, "allowed, 2 left"}, // the store knows nothing of those
	} {
		if store.Script(); step.fails {
			store.Script(limittest.Fail(errDown))
		}
		r, err := lim.Allow(t.Context(), "k")
		if err != nil || describe(r) != step.want {
			t.Errorf("request %d: %s, %v; want %s", i+1, describe(r), err, step.want)
		}
		if len(r.Limits) != 2 || r.Limits[0].Name != "z" || r.Limits[1].Limit != 4 {
			t.Errorf("request %d: limits %+v", i+1, r.Limits)
		}
	}
}

// TestUncounted: what was counted nowhere has no results of single limits.
func TestUncounted(t *testing.T) {
	for _, policy := range []slidegate.ErrorPolicy{slidegate.FailOpen(), slidegate.FailClosed()} {
		lim := newLimiter(t, slidegate.FixedWindow(6, time.Hour), slidegate.FixedWindow(4, time.Minute), named, quiet,
			withStore(limittest.Fail(errDown)), policy)
		if r, err := lim.Allow(t.Context(), "k"); err != nil || r.Limits != nil || !r.Degraded {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestDeadlines: a store other than a Memory has 250 ms. A context's own deadline
// replaces that for calls that no error policy answers, so that a program that starts
// can wait for a connection.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.FixedWindow(100, time.Hour), named, quiet, withStore(limittest.Hang()))
		bounded, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		const exceeded = "slidegate: limiter api: context deadline exceeded"
		for _, test := range []struct {
			name  string
			want  string
			takes time.Duration
			call  func() error
		}{
			{"Allow", "<nil>", 250 * time.Millisecond, func() error { return second(lim.Allow(t.Context(), "k")) }},
			{"Peek", exceeded, 250 * time.Millisecond, func() error { return second(lim.Peek(t.Context(), "k")) }},
			{"Reset", exceeded, 250 * time.Millisecond, func() error { return lim.Reset(t.Context(), "k") }},
			{"Peek by a context", exceeded, 4250 * time.Millisecond, func() error { return second(lim.Peek(bounded, "k")) }},
		} {
			start := time.Now()
			if got := fmt.Sprint(test.call()); got != test.want || time.Since(start) != test.takes {
				t.Errorf("%s: %s after %v; want %s after %v", test.name, got, time.Since(start), test.want, test.takes)
			}
		}
	})
}

// TestContexts: a caller who hangs up gets no decision; one whose time is up gets
// that of the error policy.
func TestContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, option := range map[string]slidegate.Option{
			"memory": slidegate.WithStore(slidegate.NewMemory(0)), "another store": withStore(), "a slow store": withStore(limittest.Hang()),
		} {
			var recorder limittest.Recorder
			lim := newLimiter(t, slidegate.FixedWindow(100, time.Hour), named, quiet, option, slidegate.WithObserver(recorder.Observe))
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			for call, err := range map[string]error{
				"Allow":   second(lim.Allow(cancelled, "k")),
				"Peek":    second(lim.Peek(cancelled, "k")),
				"Reserve": second(lim.Reserve(cancelled, "k")),
				"Wait":    lim.Wait(cancelled, "k"),
			} {
				if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "slidegate: limiter api: ") {
					t.Errorf("%s: %s by a cancelled context: %v", name, call, err)
				}
			}
			if events := recorder.Events(); len(events) > 0 {
				t.Errorf("%s: events %+v", name, events)
			}
		}

		for _, policy := range []slidegate.Option{slidegate.FailOpen(), slidegate.FailError()} {
			var recorder limittest.Recorder
			lim := newLimiter(t, slidegate.FixedWindow(100, time.Hour), named, quiet, withStore(limittest.Hang()),
				policy, slidegate.WithObserver(recorder.Observe))
			hangsUp, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			if r, err := lim.Allow(hangsUp, "k"); !errors.Is(err, context.Canceled) || len(recorder.Events()) > 0 {
				t.Errorf("a caller who hangs up: %+v, %v, events %+v", r, err, recorder.Events())
			}
		}
		bounded, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		lim := newLimiter(t, slidegate.FixedWindow(100, time.Hour), named, quiet, withStore(limittest.Hang()))
		if r, err := lim.Allow(bounded, "k"); err != nil || !r.Degraded {
			t.Errorf("a caller whose time is up: %+v, %v", r, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }
