package ruledoc

import "slices"

// moved returns the names of rules that both documents have in another order:
// the fewest that explain it.
func moved(current, next []Rule) map[string]bool {
	at := make(map[string]int, len(current))
	for i, r := range current {
		at[r.Name] = i
	}
	moved := map[string]bool{}
	var names []string
	var positions []int
	for _, r := range next {
		if i, ok := at[r.Name]; ok {
			names, positions, moved[r.Name] = append(names, r.Name), append(positions, i), true
		}
	}
	for _, i := range longestRise(positions) {
		delete(moved, names[i])
	}
	return moved
}

// longestRise returns the indices of a longest rising subsequence of distinct
// numbers, by patience sorting.
func longestRise(numbers []int) (rise []int) {
	var ends []int                      // ends[n] is where the lowest rise of n+1 numbers ends
	before := make([]int, len(numbers)) // the index of the number before, -1 for none
	for i, number := range numbers {
		n, _ := slices.BinarySearchFunc(ends, number, func(end, number int) int { return numbers[end] - number })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		rise = append(rise, i)
	}
	slices.Reverse(rise)
	return rise
}
