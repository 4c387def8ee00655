package main

import "testing"

// TestSummarize: the ratio is the median of the rounds' ratios, not the ratio of
// the medians.
func TestSummarize(t *testing.T) {
	got := summarize("case", "ms", 1.15, []pair{{1, 2}, {10, 30}, {2, 8}})
	if want := (row{Case: "case", Unit: "ms", Bare: 2, Slidegate: 8, Ratio: 3, Target: 1.15}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
