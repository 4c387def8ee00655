package slidegate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegatetest"
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
	count, fail := slidegatetest.Count(), slidegatetest.Fail(errDown)
	for _, test := range []struct {
		name   string
		policy slidegate.Option
		script []slidegatetest.Answer
		want   []string
	}{
		{"a store that works", slidegate.FailOpen(), []slidegatetest.Answer{count}, []string{
			"api k limited: allowed, 1 left", "api k limited: allowed, 0 left", "api k limited: denied, 0 left, retry 1h0m0s",
		}},
		{"FailOpen", slidegate.FailOpen(), []slidegatetest.Answer{count, fail, count}, []string{
			"api k limited: allowed, 1 left",
			"api k on_error: allow: connection refused", "api k limited: allowed, 0 left, degraded",
			"api k limited: allowed, 0 left",
		}},
		{"FailClosed", slidegate.FailClosed(), []slidegatetest.Answer{fail, count}, []string{
			"api k on_error: deny: connection refused", "api k limited: denied, 0 left, retry 1s, degraded",
			"api k limited: allowed, 1 left", "api k limited: allowed, 0 left",
		}},
		{"FailLocal", slidegate.FailLocal(1), []slidegatetest.Answer{fail, count}, []string{
			"api k on_error: local: connection refused", "api k limited: allowed, 1 left, degraded",
			"api k limited: allowed, 1 left", "api k limited: allowed, 0 left",
		}},
		{"FailError", slidegate.FailError(), []slidegatetest.Answer{fail, count}, []string{
			"api k charge: connection refused", "api k limited: allowed, 1 left", "api k limited: allowed, 0 left",
		}},
	} {
		clock, withClock := stopped()
		var recorder slidegatetest.Recorder
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
		options := []slidegate.Option{slidegate.FixedWindow(100, time.Hour), named, withStore(slidegatetest.Fail(errDown)), slidegate.WithLogger(log)}
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
		if _, err := lim.Allow(t.Context(), "user:7"); !errors.Is(err, errDown) {
			t.Error(err)
		}
		if text.Len() > 0 {
			t.Errorf("the log is\n%s", text.String())
		}
	})
}
