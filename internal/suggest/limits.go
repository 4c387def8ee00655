package suggest

import "slices"

const (
	// maxLimits is how many limits of a window are shown and decided.
	maxLimits = 12
	// fewKeys is the part of the keys that the lowest limit may touch: a tenth.
	fewKeys = 10
	// kneeKeys is the part of the keys that the knee may touch: a hundredth.
	kneeKeys = 100
)

// steps are the round numbers in tenths of a power of ten, finer and coarser.
var steps = [][]int64{{10, 15, 20, 30, 50, 70}, {10, 20, 50}}

// rounds returns the round numbers up to the first that is at least most,
// ascending.
func rounds(steps []int64, most int64) (all []int64) {
	for power := int64(1); ; power *= 10 {
		for _, s := range steps {
			n := s * power / 10
			if s*power%10 != 0 {
				continue
			}
			if all = append(all, n); n >= most {
				return all
			}
		}
	}
}

// candidates returns the limits to show for a window: round numbers from the
// first that touches few keys to the first that touches none, at most maxLimits.
// A window with more has coarser numbers, and may have a gap before its last.
// peaks are those of all keys as the limit counts, descending.
func candidates(peaks []int64) (all []int64) {
	for _, s := range steps {
		all = slices.DeleteFunc(rounds(s, peaks[0]), func(n int64) bool { return touched(peaks, n)*fewKeys > len(peaks) })
		if len(all) <= maxLimits {
			return all
		}
	}
	return append(all[:maxLimits-1], all[len(all)-1])
}

// touched returns how many keys a limit touches: those with a higher peak.
func touched(peaks []int64, limit int64) int {
	n, _ := slices.BinarySearchFunc(peaks, limit, func(peak, limit int64) int {
		if peak > limit {
			return -1
		}
		return 1
	})
	return n
}

// knee returns the index of the smallest limit that touches at most 1% of the
// keys. There is one, because the last touches none.
func knee(limits, peaks []int64) int {
	return slices.IndexFunc(limits, func(n int64) bool { return touched(peaks, n)*kneeKeys <= len(peaks) })
}
