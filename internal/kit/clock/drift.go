package clock

import (
	"math"
	"time"
)

// MaxDrift bounds how fast a clock gains or loses against another: 1 s in
// 5,000 s, twice what plain quartz does.
const MaxDrift = 1.0 / 5000

// Drift returns how far two clocks may have drifted apart in that time, rounded
// up.
func Drift(elapsed time.Duration) time.Duration {
	return time.Duration(math.Ceil(float64(elapsed.Abs()) * MaxDrift))
}
