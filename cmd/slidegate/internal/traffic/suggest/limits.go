package suggest

import "slices"

// shares are the parts of the keys that the limits of the table may touch: one in
// ten, one in twenty, and so on.
var shares = []int{10, 20, 50, kneeShare, 200, 500, 1000}

// kneeShare is the part of the keys that the knee may touch: a hundredth.
const kneeShare = 100

// candidates returns the smallest round limits that touch at most each of shares,
// and the smallest that touches none, ascending, and the knee among them. peaks
// are those of all keys as a limit counts, descending.
func candidates(peaks []int64) (all []int64, knee int64) {
	for _, s := range shares {
		all = append(all, roundUp(peaks[len(peaks)/s])) // at most as many keys are above
	}
	return slices.Compact(append(all, roundUp(peaks[0]))), roundUp(peaks[len(peaks)/kneeShare])
}

// roundUp returns the first round number from n on: 1, 2, 3, 5, 7, 10, 15, 20 …
func roundUp(n int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, tenths := range []int64{10, 15, 20, 30, 50, 70} {
			if r := tenths * power; r%10 == 0 && r >= 10*n {
				return r / 10
			}
		}
	}
}
