package oplog_test

import (
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// TestLocalText: the text states the share of a process in requests.
func TestLocalText(t *testing.T) {
	for limits, want := range map[string]string{
		"limit: 60/minute":                                                       "3 per 1m",
		"limit: 7/minute":                                                        "1 per 1m",
		"limits: [5 per 10s, 100/hour]":                                          "1 per 10s, 5 per 1h",
		"limit: {capacity: 1000, window: 1d, cost: 5}":                           "10 per 24h",
		"limit: {capacity: 1000, window: 1mo}":                                   "50 per month",
		"limit: {capacity: 10, window: 1m, cost: 4}":                             "1 per 1m", // room for one request
		"limit: {algorithm: token_bucket, capacity: 100, window: 1m, burst: 40}": "5 per 1m with burst 2",
		"limit: {algorithm: leaky_bucket, capacity: 100, window: 1m, queue: 60}": "5 per 1m with queue 3",
	} {
		set, err := rulefile.Parse("rules.yaml", []byte("rules: [{name: r, key: all, "+limits+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		r := set.Rules[0]
		costs := make([]int64, len(r.Costs))
		for i := range costs {
			costs[i] = r.Costs[i].Max
		}
		if got := oplog.LocalText(engine.LocalShares(r.Limits, costs, set.Instances), costs); got != want {
			t.Errorf("%s: %q, want %q", limits, got, want)
		}
	}
}
