package ruledoc

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// As few rules move as can be: the rest is the longest of all rising subsequences.
func TestLongestRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		numbers := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "numbers")
		longest := 0
		for subset := range 1 << n {
			var chosen []int
			for i := range n {
				if subset>>i&1 == 1 {
					chosen = append(chosen, numbers[i])
				}
			}
			if slices.IsSorted(chosen) {
				longest = max(longest, len(chosen))
			}
		}
		rise := longestRise(numbers)
		var risen []int
		for _, i := range rise {
			risen = append(risen, numbers[i])
		}
		if !slices.IsSorted(rise) || !slices.IsSorted(risen) || len(rise) != longest {
			t.Fatalf("%v of %v, which has one of %d", rise, numbers, longest)
		}
	})
}
