package headers_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/limit"
)

// policy is one limit as a client sees it.
type policy struct {
	rule   string
	limit  *limit.Limit
	result limit.Result
}

func TestFields(t *testing.T) {
	perUser := limit.Limit{Capacity: 100, Window: time.Minute}
	burst := limit.Limit{Name: "burst", Capacity: 5, Window: 2500 * time.Millisecond}
	long := limit.Limit{Name: "long", Capacity: 100, Window: time.Minute}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 10, Window: time.Minute, Burst: 25}
	utc := limit.Calendar{Unit: limit.Month, Location: time.UTC}
	monthly := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 500, Window: utc.Nominal(), Granularity: utc.Nominal(), Calendar: &utc}
	for name, test := range map[string]struct {
		policies          []policy
		rateLimit, policy string
	}{
		"none": {nil, "", ""},
		"allowed": {
			[]policy{{"per-user", &perUser, limit.Result{Allowed: true, Remaining: 50, Reset: 30 * time.Second}}},
			`"per-user";r=50;t=30`, `"per-user";q=100;w=60`,
		},
		"parts of a second are rounded up": {
			[]policy{{"chat", &burst, limit.Result{Allowed: true, Remaining: 1, Reset: 1001 * time.Millisecond}}},
			`"chat.burst";r=1;t=2`, `"chat.burst";q=5;w=3`,
		},
		"several": {
			[]policy{
				{"chat", &burst, limit.Result{Allowed: true, Remaining: 1}},
				{"chat", &long, limit.Result{Allowed: true, Remaining: 7, Reset: time.Second}},
			},
			`"chat.burst";r=1;t=0, "chat.long";r=7;t=1`, `"chat.burst";q=5;w=3, "chat.long";q=100;w=60`,
		},
		"denied: no longer than the retry-after": {
			[]policy{{"per-user", &perUser, limit.Result{Reset: 61 * time.Second, RetryAfter: 2 * time.Second}}},
			`"per-user";r=0;t=2`, `"per-user";q=100;w=60`,
		},
		"a bucket: the sustained rate, and the whole burst remaining": {
			[]policy{{"uploads", &bucket, limit.Result{Allowed: true, Remaining: 24, Reset: 6 * time.Second}}},
			`"uploads";r=24;t=6`, `"uploads";q=10;w=60`,
		},
		"delayed: as without the delay": {
			[]policy{{"uploads", &bucket, limit.Result{Allowed: true, Remaining: 3, Reset: 12 * time.Second, Delay: 6 * time.Second}}},
			`"uploads";r=3;t=12`, `"uploads";q=10;w=60`,
		},
		"a month: 30 days, and the true time to the next": {
			[]policy{{"export", &monthly, limit.Result{Allowed: true, Remaining: 499, Reset: 31 * 24 * time.Hour}}},
			`"export";r=499;t=2678400`, `"export";q=500;w=2592000`,
		},
		"denied for good": {
			[]policy{{"per-user", &perUser, limit.Result{Remaining: 3, Reset: 61 * time.Second, RetryAfter: limit.Never}}},
			`"per-user";r=3;t=61`, `"per-user";q=100;w=60`,
		},
	} {
		var rateLimits, policies []byte
		for _, p := range test.policies {
			rateLimits = headers.AppendRateLimit(rateLimits, p.rule, p.limit.Name, &p.result)
			policies = headers.AppendRateLimitPolicy(policies, p.rule, p.limit)
		}
		if rateLimit, policy := string(rateLimits), string(policies); rateLimit != test.rateLimit || policy != test.policy {
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
