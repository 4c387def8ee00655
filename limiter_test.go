package slidegate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limittest"
)

// TestSeveralLimits charges limits whose names sort in another order than they
// are given in: per-second, burst, a.
func TestSeveralLimits(t *testing.T) {
	clock, withClock := stopped()
	lim := newLimiter(t, withClock, slidegate.WithName("api"),
		slidegate.FixedWindow(5, time.Second),
		slidegate.TokenBucket(10, time.Minute, 20).WithName("burst"),
		slidegate.FixedWindow(100, time.Hour).WithName("a"),
	)
	for _, step := range []struct {
		advance time.Duration
		n       []int64
		want    string
		limits  string // remaining of each, in the order given; "!" marks those that deny
	}{
		{0, []int64{1, 1, 1}, "allowed, 4 left", "per-second 4/5, burst 19/10, a 99/100"},
		{0, []int64{2, 2, 2}, "allowed, 2 left", "per-second 2/5, burst 17/10, a 97/100"},
		{0, []int64{1, 7, 50}, "allowed, 1 left", "per-second 1/5, burst 10/10, a 47/100"},
		{0, []int64{2, 0, 0}, "denied, 1 left, retry 1s", "per-second 1/5!, burst 10/10, a 47/100"},
		{0, []int64{1, 0, 48}, "denied, 47 left, retry 1h0m0s", "per-second 1/5, burst 10/10, a 47/100!"}, // takes nothing of per-second
		{0, []int64{2, 11, 0}, "denied, 10 left, retry 6s", "per-second 1/5!, burst 10/10!, a 47/100"},    // the longest wait
		{0, []int64{0, 21, 0}, "denied, 10 left, retry never", "per-second 1/5, burst 10/10!, a 47/100"},
		{0, []int64{0, 0, 0}, "allowed, 1 left", "per-second 1/5, burst 10/10, a 47/100"},
		{time.Second, []int64{5, 1, 1}, "allowed, 0 left", "per-second 0/5, burst 9/10, a 46/100"},
	} {
		clock.Advance(step.advance)
		r, err := lim.AllowCosts(t.Context(), "k", step.n...)
		if err != nil {
			t.Fatal(err)
		}
		var limits []string
		for _, l := range r.Limits {
			limits = append(limits, fmt.Sprintf("%s %d/%d%s", l.Name, l.Remaining, l.Limit, map[bool]string{false: "!"}[l.Allowed]))
		}
		if got := strings.Join(limits, ", "); describe(r) != step.want || got != step.limits {
			t.Errorf("%v: %s: %s\nwant %s: %s", step.n, describe(r), got, step.want, step.limits)
		}
	}
}

// TestUnits: numbers of units that no request can take are errors, by whichever
// call, and charge and settle nothing.
func TestUnits(t *testing.T) {
	lim := newLimiter(t, slidegate.FixedWindow(10, time.Hour).WithName("z"), slidegate.FixedWindow(10, time.Minute).WithName("a"))
	reserved, err := lim.Reserve(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(n ...int64) error{
		"AllowCosts": func(n ...int64) error { _, err := lim.AllowCosts(t.Context(), "k", n...); return err },
		"AllowAt":    func(n ...int64) error { _, err := lim.AllowAt(t.Context(), noon, "k", n...); return err },
		"Reserve":    func(n ...int64) error { _, err := lim.Reserve(t.Context(), "k", n...); return err },
		"WaitCosts":  func(n ...int64) error { return lim.WaitCosts(t.Context(), "k", n...) },
		"Settle":     func(n ...int64) error { return reserved.Settle(t.Context(), n...) },
	}
	for _, test := range []struct {
		n    []int64
		want string
	}{
		{[]int64{512}, "slidegate: limiter default: 1 costs for 2 limits: give one for each"},
		{[]int64{1, -2}, "slidegate: limiter default: -2 units: a request cannot take less than 0"},
		{[]int64{1, 2, 3}, "slidegate: limiter default: 3 costs for 2 limits: give one for each"},
	} {
		for name, call := range calls {
			if err := call(test.n...); err == nil || err.Error() != test.want {
				t.Errorf("%s(%v): %v; want %s", name, test.n, err, test.want)
			}
		}
	}
	for _, name := range []string{"AllowCosts", "WaitCosts", "Settle"} { // the others take one unit then
		if err := calls[name](); err == nil || err.Error() != "slidegate: limiter default: no costs: give one for each limit" {
			t.Errorf("%s without costs: %v", name, err)
		}
	}
	if r, err := lim.Peek(t.Context(), "k"); err != nil || r.Remaining != 10 {
		t.Errorf("a wrong call charged something: %v, %v", r, err)
	}
	if err := reserved.Settle(t.Context(), 1, 1); err != nil {
		t.Errorf("a wrong settlement settled: %v", err)
	}
}

// TestTimeOutOfRange: the zero Time is the likeliest mistake with AllowAt.
func TestTimeOutOfRange(t *testing.T) {
	lim := newLimiter(t, slidegate.SlidingWindow(10, time.Minute))
	for _, now := range []time.Time{{}, noon.AddDate(-200, 0, 0), noon.AddDate(200, 0, 0)} {
		_, err := lim.AllowAt(t.Context(), now, "k")
		if want := "slidegate: limiter default: the time " + now.Format(time.RFC3339) + " is out of range: give one of the years 1930 to 2199"; err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestKeys(t *testing.T) {
	long := strings.Repeat("x", 2000)
	shared := slidegate.NewMemory(0)
	for name, options := range map[string][]slidegate.Option{
		"own memory":    {slidegate.FixedWindow(1, time.Minute)},
		"shared memory": {slidegate.FixedWindow(1, time.Minute), slidegate.WithName("api"), slidegate.WithStore(shared)},
	} {
		lim := newLimiter(t, append(options, slidegate.WithClock(func() time.Time { return noon }))...)
		for _, key := range []string{"", "-", " ", "user:7", "user:8", "ü", "\xff", "a#b", long, long + "y", long[:505]} {
			for want := range 2 {
				r, err := lim.Allow(t.Context(), key)
				if err != nil || r.Allowed != (want == 0) {
					t.Errorf("%s: request %d of key %.10q: %+v, %v", name, want+1, key, r, err)
				}
			}
		}
		if item := lim.Item(long); len(item) > 600 {
			t.Errorf("%s: a counter's name has %d bytes", name, len(item))
		}
	}
}

// TestSharedStore: limiters share counters by name, and nothing else.
func TestSharedStore(t *testing.T) {
	store := slidegate.NewMemory(0)
	limiter := func(name string, n int64, window time.Duration) *slidegate.Limiter {
		return newLimiter(t, slidegate.FixedWindow(n, window), slidegate.WithName(name), slidegate.WithStore(store),
			slidegate.WithClock(func() time.Time { return noon }))
	}
	api := limiter("api", 10, time.Minute)
	for _, step := range []struct {
		name      string
		lim       *slidegate.Limiter
		remaining int64
	}{
		{"the first", api, 9},
		{"another name", limiter("web", 10, time.Minute), 9},
		{"the same name", limiter("api", 10, time.Minute), 8},
		{"the same name and another capacity", limiter("api", 20, time.Minute), 17},
		{"the same name and another window", limiter("api", 10, time.Hour), 9},
		{"the first again", api, 6},
	} {
		if r, err := step.lim.Allow(t.Context(), "k"); err != nil || r.Remaining != step.remaining {
			t.Errorf("%s: %d left, %v; want %d", step.name, r.Remaining, err, step.remaining)
		}
	}
	if err := api.Reset(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if r, err := api.Allow(t.Context(), "k"); err != nil || r.Remaining != 9 {
		t.Errorf("after a reset: %d left, %v", r.Remaining, err)
	}
	if r, err := limiter("web", 10, time.Minute).Allow(t.Context(), "k"); err != nil || r.Remaining != 8 {
		t.Errorf("a reset of another limiter: %d left, %v", r.Remaining, err)
	}
}

// TestFullMemory: a Memory that is full of keys in use denies new ones, or says
// so.
func TestFullMemory(t *testing.T) {
	full := func(options ...slidegate.Option) *slidegate.Limiter {
		lim := newLimiter(t, append(options, slidegate.FixedWindow(5, time.Hour), named, quiet,
			slidegate.WithStore(slidegate.NewMemory(64)), slidegate.WithClock(func() time.Time { return noon }))...)
		for i := range 1000 { // until each of the 64 shards has its key
			_, err := lim.Allow(t.Context(), fmt.Sprint(i))
			if err != nil && !errors.Is(err, slidegate.ErrUndecided) {
				t.Fatal(err)
			}
		}
		return lim
	}
	if r, err := full().Allow(t.Context(), "new"); err != nil || describe(r) != "denied, 0 left, retry 1s, degraded" {
		t.Errorf("FailLocal: %s, %v", describe(r), err)
	}
	lim := full(slidegate.FailError())
	if _, err := lim.Allow(t.Context(), "new"); !errors.Is(err, slidegate.ErrUndecided) {
		t.Errorf("FailError: %v", err)
	}
	if r, err := lim.Allow(t.Context(), "0"); err != nil || r.Remaining != 3 {
		t.Errorf("a key in use: %+v, %v", r, err)
	}
}

// TestStoreClock: all limiters on one store go by its clock, unless they have one
// of their own. A Memory has one, so a step of the machine's clock between two
// calls of New parts none of them.
func TestStoreClock(t *testing.T) {
	store := clocked{slidegate.NewMemory(0)}
	for want, options := range map[time.Time][]slidegate.Option{
		noon.Add(time.Hour): nil, noon: {slidegate.WithClock(func() time.Time { return noon })},
	} {
		var recorder limittest.Recorder
		lim := newLimiter(t, append(options, slidegate.FixedWindow(5, time.Hour), named, slidegate.WithStore(store), slidegate.WithObserver(recorder.Observe))...)
		if _, err := lim.Allow(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		if got := recorder.Events()[0].Time; !got.Equal(want) {
			t.Errorf("decided at %v; want %v", got, want)
		}
	}
	memory := slidegate.NewMemory(0)
	if before, now := memory.Now(), memory.Now(); now.Before(before) || time.Until(now).Abs() > time.Minute {
		t.Errorf("a Memory says %v and %v", before, now)
	}
}

// clocked is a store with a clock.
type clocked struct{ *slidegate.Memory }

func (clocked) Now() time.Time { return noon.Add(time.Hour) }

// TestNewErrors: each error names the call that is wrong and what to write, in
// the words of this package.
func TestNewErrors(t *testing.T) {
	type options = []slidegate.Option
	minute := slidegate.SlidingWindow(100, time.Minute)
	nine := make(options, 9)
	for i := range nine {
		nine[i] = slidegate.FixedWindow(1, time.Duration(i+1)*time.Minute)
	}
	for _, test := range []struct {
		options options
		want    string
	}{
		{nil, "a limiter needs a limit, such as SlidingWindow(100, time.Minute)"},
		{nine, "9 limits: give 1 to 8"},
		{options{slidegate.Limit{}}, "limit 1 is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind"},
		{options{minute, slidegate.Limit{}.WithName("x")}, "limit 2 is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind"},

		{options{slidegate.SlidingWindow(0, time.Minute)}, "SlidingWindow(0, 1m): n must be at least 1"},
		{options{slidegate.FixedWindow(-1, time.Minute)}, "FixedWindow(-1, 1m): n must be at least 1"},
		{options{slidegate.SlidingWindowCounter(1e15, time.Minute)}, "SlidingWindowCounter(1000000000000000, 1m): n must be from 1 to 999999999999999"},
		{options{slidegate.SlidingLog(1001, time.Minute)}, "SlidingLog(1001, 1m): n must be at most 1000: use SlidingWindow for more"},
		{options{slidegate.TokenBucket(200_000_000, 100*time.Millisecond, 1)}, "TokenBucket(200000000, 100ms, 1): " +
			"n must be 100000000, or the limit a SlidingWindow: a bucket has whole nanoseconds for a unit, here 1ns, and 200000000 in 100ms is more than 1% off"},
		{options{slidegate.PerMonth(0, time.UTC)}, `PerMonth(0, UTC): n must be at least 1`},

		{options{slidegate.SlidingWindow(100, 0)}, "SlidingWindow(100, 0s): the window must be from 100ms to 3650d"},
		{options{slidegate.TokenBucket(5, 60, 5)}, "TokenBucket(5, 60ns, 5): the window must be from 100ms to 3650d: write 60*time.Second"},
		{options{slidegate.SlidingWindow(100, 60)}, "SlidingWindow(100, 60ns): the window must be from 100ms to 3650d: write 60*time.Second"},
		{options{slidegate.TokenBucket(1, 20*time.Millisecond, 5)},
			"TokenBucket(1, 20ms, 5): the window must be at least 100ms; the same rate is TokenBucket(10, 200ms, 5)"},
		{options{slidegate.TokenBucket(1<<32-1, time.Millisecond, 5)},
			"TokenBucket(4294967295, 1ms, 5): the window must be from 100ms to 3650d"},
		{options{slidegate.SlidingWindow(100, 61*time.Second)},
			"SlidingWindow(100, 1m1s): the window does not divide into 10 to 60 even slots: add WithSlots(1s), or give a rounder window"},
		{options{slidegate.SlidingWindow(100, 1234567891)},
			"SlidingWindow(100, 1.234567891s): the window is no whole multiple of 100ms: give one that is, or add WithSlots"},

		{options{minute.WithSlots(7 * time.Second)}, "SlidingWindow(100, 1m).WithSlots(7s): slots must divide the window into at most 600: write WithSlots(7.5s)"},
		{options{slidegate.SlidingWindow(100, time.Hour).WithSlots(time.Second)},
			"SlidingWindow(100, 1h).WithSlots(1s): slots must divide the window into at most 600: write WithSlots(6s)"},
		{options{minute.WithSlots(2 * time.Minute)}, "SlidingWindow(100, 1m).WithSlots(2m): slots must divide the window into at most 600: write WithSlots(1m)"},
		{options{minute.WithSlots(0)}, "SlidingWindow(100, 1m).WithSlots(0s): slots must be at least 100ms wide"},
		{options{slidegate.FixedWindow(100, time.Minute).WithSlots(time.Second)}, "FixedWindow(100, 1m).WithSlots(1s): only SlidingWindow takes WithSlots"},

		{options{slidegate.TokenBucket(10, time.Second, -1)}, "TokenBucket(10, 1s, -1): burst must be at least 1, or 0 for n"},
		{options{slidegate.TokenBucket(1, 365*24*time.Hour, 11)}, "TokenBucket(1, 365d, 11): burst must be at most 10: more take over ten years"},
		{options{slidegate.LeakyBucket(10, time.Second, 1e15)}, "LeakyBucket(10, 1s, 1000000000000000): queue must be from 1 to 999999999999999"},

		{options{slidegate.InFlight(1001, time.Minute)}, "InFlight(1001, 1m): n must be from 1 to 1000"},
		{options{slidegate.InFlight(0, 90)}, "InFlight(0, 90ns): n must be at least 1\nInFlight(0, 90ns): the window must be from 1s to 1d: write 90*time.Second"},
		{options{slidegate.InFlight(5, 25*time.Hour)}, "InFlight(5, 25h): the window must be from 1s to 1d"},
		{options{slidegate.InFlight(5, time.Hour).WithSlots(time.Second).WithAnchor(3)},
			"InFlight(5, 1h).WithSlots(1s).WithAnchor(3): only PerMonth takes WithAnchor\nInFlight(5, 1h).WithSlots(1s).WithAnchor(3): only SlidingWindow takes WithSlots"},
		{options{slidegate.InFlight(5, time.Hour), minute, slidegate.InFlight(9, time.Hour).WithName("more")},
			`InFlight(9, 1h).WithName("more"): limits requests in flight as InFlight(5, 1h) does: remove one of the two`},
		{options{slidegate.InFlight(5, time.Minute), slidegate.WithName("x"), withStore(limittest.Fail(errDown)), slidegate.WithLease(2)},
			"WithLease: a place in flight is taken by one request, never ahead: remove the lease, or limit requests in flight apart"},

		{options{slidegate.PerDay(5, time.FixedZone("CETX", 3600))},
			`PerDay(5, CETX): unknown time zone "CETX": give time.UTC, or what time.LoadLocation returns for a name of the IANA database`},
		{options{slidegate.PerMonth(5, time.UTC).WithAnchor(32)}, `PerMonth(5, UTC).WithAnchor(32): the day must be from 1 to 31`},
		{options{slidegate.PerMonth(5, time.UTC).WithAnchor(0)}, `PerMonth(5, UTC).WithAnchor(0): the day must be from 1 to 31`},
		{options{slidegate.PerDay(5, time.UTC).WithAnchor(15)}, `PerDay(5, UTC).WithAnchor(15): only PerMonth takes WithAnchor`},
		{options{minute.WithAnchor(15)}, "SlidingWindow(100, 1m).WithAnchor(15): only PerMonth takes WithAnchor"},

		{options{minute.WithName("Per Minute")}, `SlidingWindow(100, 1m).WithName("Per Minute"): ` +
			`"Per Minute" cannot be a name: use 1 to 31 lower-case letters, digits and hyphens, a letter or digit first, such as per-minute`},
		{options{minute, slidegate.FixedWindow(7, time.Minute)}, `FixedWindow(7, 1m): has the name "per-minute" as SlidingWindow(100, 1m) has: name one of them, such as WithName("burst")`},
		{options{slidegate.SlidingWindow(0, 0), minute},
			"SlidingWindow(0, 0s): n must be at least 1\nSlidingWindow(0, 0s): the window must be from 100ms to 3650d"},

		{options{minute, slidegate.WithName("API")}, `WithName: "API" cannot be a name: use 1 to 63 lower-case letters, digits and hyphens, a letter or digit first, such as api`},
		{options{minute, slidegate.WithName("deny")}, `WithName: "deny" stands for the deny list in responses: write another name`},
		{options{minute, slidegate.WithName("x"), slidegate.WithStore(&slidegate.Memory{})}, "WithStore: the Memory is not usable: make one with NewMemory"},
		{options{minute, slidegate.WithStore(slidegate.NewMemory(0))}, `a limiter with WithStore needs a name for its counters, such as WithName("api")`},
		{options{minute, nil}, "option 2 is nil"},
		{options{minute, slidegate.WithStore(nil), slidegate.WithName("api")}, "WithStore: the store is nil: open one, or leave the option out to count in memory"},
		{options{minute, slidegate.WithClock(nil)}, "WithClock: the function is nil: leave the option out for the machine's clock"},
		{options{minute, slidegate.WithLogger(nil)}, "WithLogger: the logger is nil: leave the option out for slog.Default"},
		{options{minute, slidegate.WithObserver(nil)}, "WithObserver: the function is nil: leave the option out to observe nothing"},
		{options{minute, slidegate.WithDeadline(0)}, "WithDeadline: the time must be positive, such as 100*time.Millisecond"},
		{options{minute, slidegate.WithLease(1)}, "WithLease: give a number from 2 to 1000"},
		{options{minute, slidegate.WithLease(2)}, "WithLease: counters in memory need no leases: leave the option out"},
		{options{slidegate.TokenBucket(5, time.Minute, 5), slidegate.WithName("x"), withStore(limittest.Fail(errDown)), slidegate.WithLease(2)},
			"WithLease: a TokenBucket has no slots that a lease could end with: remove the lease, or use SlidingWindow"},
		{options{minute, slidegate.ErrorPolicy{}}, "the zero ErrorPolicy: give FailOpen(), FailClosed() or FailLocal(4)"},
		{options{minute, slidegate.FailLocal(0)}, "FailLocal: give at least one process"},
		{options{minute, slidegate.WithLimits()}, "WithLimits: there are none: give at least one, such as SlidingWindow(100, time.Minute)"},
	} {
		lim, err := slidegate.New(test.options...)
		if err == nil || err.Error() != "slidegate: "+test.want {
			t.Errorf("%v:\n got %v\nwant slidegate: %s", test.options, err, test.want)
		}
		if lim != nil {
			t.Errorf("%s: there is a limiter", test.want)
		}
	}
}

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
func stopped() (*limittest.Clock, slidegate.Option) {
	clock := limittest.NewClock(noon)
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
