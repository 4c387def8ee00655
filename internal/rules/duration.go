package rules

import (
	"strconv"
	"strings"
	"time"
)

const (
	day = 24 * time.Hour

	// maxWindow is far beyond any use, and far enough below the 292 years of a time.Duration for sums to be safe.
	maxWindow = 3650 * day
)

// parseDuration reads a length of time as Go writes it, such as "1m30s", with whole days in front if wanted: "1d", "1d12h".
// A day is 24 hours: those of a calendar are window's to tell.
func parseDuration(text string) (length time.Duration, ok bool) {
	if strings.ContainsAny(text, "+-") {
		return 0, false
	}
	rest := text
	if days, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil {
			return 0, false
		}
		length = time.Duration(min(n, uint64(maxWindow/day)+1)) * day // more is as much too long
		if rest = after; rest == "" {
			return length, true
		}
	}
	d, err := time.ParseDuration(rest)
	return length + min(d, maxWindow+1), err == nil
}

// formatDuration is Duration.String without the zeros at its end: 1m for 1m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
