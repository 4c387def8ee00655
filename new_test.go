package slidegate_test

import (
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegatetest"
)

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
		{options{slidegate.SlidingWindowCounter(1<<32, time.Minute)}, "SlidingWindowCounter(4294967296, 1m): n must be from 1 to 4294967295"},
		{options{slidegate.SlidingLog(1001, time.Minute)}, "SlidingLog(1001, 1m): n must be at most 1000: use SlidingWindow for more"},
		{options{slidegate.SlidingLog(1<<32, time.Minute)}, "SlidingLog(4294967296, 1m): n must be at most 1000: use SlidingWindow for more"},
		{options{slidegate.TokenBucket(200_000_000, 100*time.Millisecond, 1)}, "TokenBucket(200000000, 100ms, 1): n must be at most 100000000"},
		{options{slidegate.PerMonth(0, time.UTC)}, `PerMonth(0, UTC): n must be at least 1`},

		{options{slidegate.SlidingWindow(100, 0)}, "SlidingWindow(100, 0s): the window must be from 100ms to ten years"},
		{options{slidegate.SlidingWindow(100, 60)}, "SlidingWindow(100, 60ns): the window must be from 100ms to ten years"},
		{options{slidegate.TokenBucket(100, -time.Second, 1)}, "TokenBucket(100, -1s, 1): the window must be from 100ms to ten years"},
		{options{slidegate.TokenBucket(1, 20*time.Millisecond, 5)},
			"TokenBucket(1, 20ms, 5): the window must be at least 100ms; the same rate is TokenBucket(10, 200ms, 5)"},
		{options{slidegate.LeakyBucket(3, 7*time.Microsecond, 0)},
			"LeakyBucket(3, 7µs, 0): the window must be at least 100ms; the same rate is LeakyBucket(300000, 700ms, 3)"},
		{options{slidegate.TokenBucket(1<<32-1, time.Millisecond, 5)},
			"TokenBucket(4294967295, 1ms, 5): the window must be from 100ms to ten years"},
		{options{slidegate.FixedWindow(100, math.MaxInt64)}, "FixedWindow(100, 2562047h47m16.854775807s): the window must be from 100ms to ten years"},
		{options{slidegate.SlidingWindow(100, 61*time.Second)},
			"SlidingWindow(100, 1m1s): the window does not divide into 10 to 60 even slots: add WithSlots(1s), or give a rounder window"},
		{options{slidegate.SlidingWindow(100, 1234567891)},
			"SlidingWindow(100, 1.234567891s): the window is no whole multiple of 100ms: give one that is, or add WithSlots"},

		{options{minute.WithSlots(7 * time.Second)}, "SlidingWindow(100, 1m).WithSlots(7s): slots must divide the window into at most 600: write WithSlots(7.5s)"},
		{options{slidegate.SlidingWindow(100, time.Hour).WithSlots(time.Second)},
			"SlidingWindow(100, 1h).WithSlots(1s): slots must divide the window into at most 600: write WithSlots(6s)"},
		{options{minute.WithSlots(2 * time.Minute)}, "SlidingWindow(100, 1m).WithSlots(2m): slots must divide the window into at most 600: write WithSlots(1m)"},
		{options{minute.WithSlots(0)}, "SlidingWindow(100, 1m).WithSlots(0s): slots must be at least 100ms wide"},
		{options{minute.WithSlots(-time.Second)}, "SlidingWindow(100, 1m).WithSlots(-1s): slots must be at least 100ms wide"},
		{options{slidegate.FixedWindow(100, time.Minute).WithSlots(time.Second)}, "FixedWindow(100, 1m).WithSlots(1s): only SlidingWindow takes WithSlots"},

		{options{slidegate.TokenBucket(10, time.Second, -1)}, "TokenBucket(10, 1s, -1): burst must be at least 1, or 0 for n"},
		{options{slidegate.TokenBucket(1, 365*24*time.Hour, 11)}, "TokenBucket(1, 365d, 11): burst must be at most 10: more take over ten years"},
		{options{slidegate.LeakyBucket(10, time.Second, -1)}, "LeakyBucket(10, 1s, -1): queue must be at least 1, or 0 for n"},
		{options{slidegate.LeakyBucket(10, time.Second, 1<<32)}, "LeakyBucket(10, 1s, 4294967296): queue must be from 1 to 4294967295"},
		{options{slidegate.LeakyBucket(10, time.Millisecond*100, 1<<32)}, "LeakyBucket(10, 100ms, 4294967296): queue must be from 1 to 4294967295"},

		{options{slidegate.PerDay(5, time.FixedZone("CETX", 3600))},
			`PerDay(5, CETX): unknown time zone "CETX": give time.UTC, or what time.LoadLocation returns for a name of the IANA database`},
		{options{slidegate.PerWeek(5, time.Local)},
			`PerWeek(5, Local): unknown time zone "Local": give time.UTC, or what time.LoadLocation returns for a name of the IANA database`},
		{options{slidegate.PerMonth(5, time.UTC).WithAnchor(29)}, `PerMonth(5, UTC).WithAnchor(29): the day must be from 1 to 28`},
		{options{slidegate.PerMonth(5, time.UTC).WithAnchor(0)}, `PerMonth(5, UTC).WithAnchor(0): the day must be from 1 to 28`},
		{options{slidegate.PerMonth(5, time.UTC).WithAnchor(-1)}, `PerMonth(5, UTC).WithAnchor(-1): the day must be from 1 to 28`},
		{options{slidegate.PerDay(5, time.UTC).WithAnchor(15)}, `PerDay(5, UTC).WithAnchor(15): only PerMonth takes WithAnchor`},
		{options{minute.WithAnchor(15)}, "SlidingWindow(100, 1m).WithAnchor(15): only PerMonth takes WithAnchor"},

		{options{minute.WithName("Per Minute")}, `SlidingWindow(100, 1m).WithName("Per Minute"): ` +
			`"Per Minute" cannot be a name: use 1 to 31 lower-case letters, digits and hyphens, a letter or digit first, such as per-minute`},
		{options{minute, slidegate.FixedWindow(7, time.Minute)}, `FixedWindow(7, 1m): has the name "per-minute" as SlidingWindow(100, 1m) has: name one of them, such as WithName("burst")`},
		{options{minute.WithName("a"), slidegate.FixedWindow(7, time.Hour).WithName("a")},
			`FixedWindow(7, 1h).WithName("a"): has the name "a" as SlidingWindow(100, 1m).WithName("a") has: name one of them, such as WithName("burst")`},
		{options{slidegate.SlidingWindow(0, 0), minute},
			"SlidingWindow(0, 0s): n must be at least 1\nSlidingWindow(0, 0s): the window must be from 100ms to ten years"},

		{options{minute, slidegate.WithName("API")}, `WithName: "API" cannot be a name: use 1 to 63 lower-case letters, digits and hyphens, a letter or digit first, such as api`},
		{options{minute, slidegate.WithName("deny")}, `WithName: "deny" stands for the deny list in responses: write another name`},
		{options{minute, slidegate.WithName("x"), slidegate.WithStore(&slidegate.Memory{})}, "WithStore: the Memory is not usable: make one with NewMemory"},
		{options{minute, slidegate.WithName("x"), slidegate.WithStore((*slidegate.Memory)(nil))}, "WithStore: the Memory is not usable: make one with NewMemory"},
		{options{minute, slidegate.WithStore(slidegate.NewMemory(0))}, `a limiter with WithStore needs a name for its counters, such as WithName("api")`},
		{options{minute, nil}, "option 2 is nil"},
		{options{minute, slidegate.WithStore(nil), slidegate.WithName("api")}, "WithStore: the store is nil: open one, or leave the option out to count in memory"},
		{options{minute, slidegate.WithClock(nil)}, "WithClock: the function is nil: leave the option out for the machine's clock"},
		{options{minute, slidegate.WithLogger(nil)}, "WithLogger: the logger is nil: leave the option out for slog.Default"},
		{options{minute, slidegate.WithObserver(nil)}, "WithObserver: the function is nil: leave the option out to observe nothing"},
		{options{minute, slidegate.WithDeadline(0)}, "WithDeadline: the time must be positive, such as 100*time.Millisecond"},
		{options{minute, slidegate.WithLease(1)}, "WithLease: give a number from 2 to 1000"},
		{options{minute, slidegate.WithLease(2)}, "WithLease: counters in memory need no leases: leave the option out"},
		{options{slidegate.TokenBucket(5, time.Minute, 5), slidegate.WithName("x"), withStore(slidegatetest.Fail(errDown)), slidegate.WithLease(2)},
			"WithLease: a TokenBucket has no slots that a lease could end with: remove the lease, or use SlidingWindow"},
		{options{minute, slidegate.ErrorPolicy{}}, "the zero ErrorPolicy: give FailOpen(), FailClosed() or FailLocal(4)"},
		{options{minute, slidegate.FailLocal(0)}, "FailLocal: give at least one process"},
		{options{slidegate.WithLimits()}, "WithLimits: there are none: give at least one, such as SlidingWindow(100, time.Minute)"},
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
