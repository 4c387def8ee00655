package engine_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestTightestBucket: the share left of a bucket is that of its burst. A bucket
// with 1,999 of 2,000 left is less used than a window with 990 of 1,000, though
// it refills at only 10 a minute.
func TestTightestBucket(t *testing.T) {
	const (
		window = `{name: window, key: all, cost: 10, limits: [{capacity: 1000, window: 60s}]}`
		full   = `{name: full, key: all, limits: [{algorithm: token_bucket, capacity: 10, window: 60s, burst: 2000}]}`
		half   = `{name: half, key: all, cost: 1000, limits: [{algorithm: token_bucket, capacity: 10, window: 60s, burst: 2000}]}`
	)
	for rules, want := range map[string]string{
		window + ", " + full: "window", full + ", " + window: "window",
		window + ", " + half: "half", half + ", " + window: "half",
	} {
		d := newFixture(t, "rules: ["+rules+"]").decide(t, "/")
		if v, i := d.Tightest(); v == nil || v.PolicyName(i) != want {
			t.Errorf("got %v %d, want %s", v, i, want)
		}
	}
}

// TestTightestInOrder chooses among results of two limits of 10 and 1,000 units.
// The first limit stays if the second is not tighter.
func TestTightestInOrder(t *testing.T) {
	d := newFixture(t, `rules: [{name: r, key: all, limits: [{name: a, capacity: 10, window: 60s}, {name: b, capacity: 1000, window: 60s}]}]`).decide(t, "/")
	left := func(n int64) limit.Result { return limit.Result{Allowed: true, Remaining: n} }
	denial := func(n int64, wait time.Duration) limit.Result { return limit.Result{Remaining: n, RetryAfter: wait} }
	for name, test := range map[string]struct {
		a, b limit.Result
		want int
	}{
		"as much of each left":         {left(5), left(500), 0},
		"less of the second":           {left(5), left(499), 1},
		"a denial with more left":      {denial(9, time.Second), left(0), 0},
		"a later denial with more":     {left(0), denial(900, time.Second), 1},
		"equal waits":                  {denial(0, time.Second), denial(0, time.Second), 0},
		"two that never allow it":      {denial(0, limit.Never), denial(0, limit.Never), 0},
		"a wait, and one without end":  {denial(0, time.Second), denial(0, limit.Never), 1},
		"one without end, and a wait":  {denial(0, limit.Never), denial(0, time.Second), 0},
		"a longer wait of the second":  {denial(0, time.Second), denial(0, time.Minute), 1},
		"a shorter wait of the second": {denial(0, time.Minute), denial(0, time.Second), 0},
	} {
		d.Verdicts[0].Limits = []limit.Result{test.a, test.b}
		if _, i := d.Tightest(); i != test.want {
			t.Errorf("%s: limit %d, want %d", name, i, test.want)
		}
	}
}
