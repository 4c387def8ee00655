package limit

import "time"

// The first and the last time that states can count by, in Unix seconds: from
// 1930 to the end of 2199. Any two times that arise from these, even two of the
// longest windows later, are less than 2⁶³ nanoseconds apart.
const (
	earliest = -1_262_304_000
	latest   = 7_258_118_400
)

// InRange reports whether a time is in one of the years 1930 to 2199. Other
// times must not be used: differences would overflow, and a bucket that is empty
// would seem to be full.
func InRange(t time.Time) bool {
	s := t.Unix()
	return earliest <= s && s < latest
}
