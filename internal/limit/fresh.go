package limit

import "time"

// SnapshotAge is how old a state that a store keeps of an earlier answer may be
// and still deny without a call. A reset or a refund by another process shows
// within it.
const SnapshotAge = 10 * time.Second

// Fresh reports whether a state taken at one time may deny at another without a
// call. A state of the future was taken by a clock that has been set back since,
// or by a caller of the same process whose clock is ahead.
func Fresh(taken, now time.Time) bool {
	age := now.Sub(taken)
	return -SnapshotAge <= age && age <= SnapshotAge
}
