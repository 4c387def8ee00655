package limit_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestApply: Apply is Decide and then Take, also into a verdict that has been
// used before, for limits of all algorithms.
func TestApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &limit.Charge{Key: "k"}
		for range rapid.IntRange(1, 3).Draw(t, "limits") {
			c.Limits = append(c.Limits, drawLimit(t))
		}
		c.Costs = make([]int64, len(c.Limits))
		applied, taken := make([]limit.State, len(c.Limits)), make([]limit.State, len(c.Limits))
		got, now := limit.Verdict{}, epoch
		for range rapid.IntRange(1, 20).Draw(t, "charges") {
			now = now.Add(drawStep(t, &c.Limits[0]))
			for i := range c.Costs {
				c.Costs[i] = rapid.Int64Range(0, 4).Draw(t, "cost")
			}
			var want limit.Verdict
			limit.Decide(taken, c, now, &want)
			changed := want.Allowed && !c.ZeroCost()
			if changed {
				limit.Take(taken, c, now, &want)
			}
			got.Receipt.Generation, got.Receipt.Serial = "of the call before", 7
			if limit.Apply(applied, c, now, &got) != changed {
				t.Fatalf("Apply reports %t for %+v", !changed, want)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("verdicts differ (-Decide and Take +Apply):\n%s", diff)
			}
			for i := range applied {
				if a, b := slices.Collect(applied[i].All()), slices.Collect(taken[i].All()); !slices.Equal(a, b) {
					t.Fatalf("limit %d: Apply leaves %v, Decide and Take %v", i, a, b)
				}
				a, _ := applied[i].Full()
				if b, _ := taken[i].Full(); a != b {
					t.Fatalf("limit %d: Apply leaves a bucket that is full at %d, Decide and Take at %d", i, a, b)
				}
			}
		}
	})
}
