package slidegate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegatetest"
)

// noon is noon of a Monday.
var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// berlin is a zone with other midnights than UTC.
var berlin = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return zone
}()

// at returns a time such as "12:00:10.5" of that Monday, or "2026-02-01
// 00:00:00".
func at(t *testing.T, text string) time.Time {
	t.Helper()
	if !strings.Contains(text, " ") {
		text = noon.Format("2006-01-02 ") + text
	}
	when, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// newLimiter returns a limiter that needs no error handling.
func newLimiter(t testing.TB, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// stopped returns a clock that stands at noon, and the option for it.
func stopped() (*slidegatetest.Clock, slidegate.Option) {
	clock := slidegatetest.NewClock(noon)
	return clock, slidegate.WithClock(clock.Now)
}

// describe writes a result as traces have it: "allowed, 3 left", "denied, 0 left,
// retry 41s", "allowed, 0 left, delay 300ms", "allowed, 2 left, degraded".
func describe(r slidegate.Result) string {
	text := fmt.Sprintf("denied, %d left, retry %v", r.Remaining, r.RetryAfter)
	switch {
	case r.Allowed:
		text = fmt.Sprintf("allowed, %d left", r.Remaining)
	case r.RetryAfter == slidegate.Never:
		text = fmt.Sprintf("denied, %d left, retry never", r.Remaining)
	}
	if r.Delay != 0 {
		text += fmt.Sprintf(", delay %v", r.Delay)
	}
	if r.Degraded {
		text += ", degraded"
	}
	return text
}

// observer returns a function as WithObserver takes it.
func observer(f func(slidegate.Event)) func(context.Context, slidegate.Event) {
	return func(_ context.Context, e slidegate.Event) { f(e) }
}
