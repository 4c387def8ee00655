package headers_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/limit"
)

func TestFields(t *testing.T) {
	perUser := limit.Limit{Capacity: 100, Window: time.Minute}
	burst := limit.Limit{Name: "burst", Capacity: 5, Window: 2500 * time.Millisecond}
	places := limit.Limit{Algorithm: limit.InFlight, Capacity: 20, Window: 90 * time.Second}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 10, Window: time.Minute, Burst: 25}
	utc := limit.Calendar{Unit: limit.Month, Location: time.UTC}
	monthly := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 500, Window: utc.Nominal(), Granularity: utc.Nominal(), Calendar: &utc}
	allowed := func(n int64, reset time.Duration) limit.Result {
		return limit.Result{Allowed: true, Remaining: n, Reset: reset}
	}
	for name, test := range map[string]struct {
		rule              string
		limit             limit.Limit
		result            limit.Result
		rateLimit, policy string
	}{
		"allowed":          {"per-user", perUser, allowed(50, 30*time.Second), `"per-user";r=50;t=30`, `"per-user";q=100;w=60`},
		"parts of seconds": {"chat", burst, allowed(1, 1001*time.Millisecond), `"chat.burst";r=1;t=2`, `"chat.burst";q=5;w=3`},
		"denied: no longer than the retry-after": {
			"per-user", perUser, limit.Result{Reset: 61 * time.Second, RetryAfter: 2 * time.Second}, `"per-user";r=0;t=2`, `"per-user";q=100;w=60`,
		},
		"a bucket: the sustained rate, and the whole burst remaining": {
			"uploads", bucket, allowed(24, 6*time.Second), `"uploads";r=24;t=6`, `"uploads";q=10;w=60`,
		},
		"a month: 30 days, and the true time to the next": {
			"export", monthly, allowed(499, 31*24*time.Hour), `"export";r=499;t=2678400`, `"export";q=500;w=2592000`,
		},
		"places in flight have no window": {
			"workers", places, limit.Result{Reset: 40 * time.Second, RetryAfter: time.Second}, `"workers";r=0;t=1`, `"workers";q=20`,
		},
		"denied for good": {
			"per-user", perUser, limit.Result{Remaining: 3, Reset: 61 * time.Second, RetryAfter: limit.Never}, `"per-user";r=3;t=61`, `"per-user";q=100;w=60`,
		},
	} {
		rateLimit := string(headers.AppendRateLimit(nil, test.rule, test.limit.Name, &test.result))
		policy := string(headers.AppendRateLimitPolicy(nil, test.rule, &test.limit))
		if rateLimit != test.rateLimit || policy != test.policy {
			t.Errorf("%s:\nRateLimit: %s\nRateLimit-Policy: %s\nwant\n%s\n%s", name, rateLimit, policy, test.rateLimit, test.policy)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		limit.Never: "", 0: "1", 1: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "3600",
	} {
		if got := headers.RetryAfter(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
