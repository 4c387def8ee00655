package ruledoc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// MinWindow is the shortest window and the finest granularity: below it a
	// round trip to the store takes longer than a slot.
	MinWindow = 100 * time.Millisecond
	// MaxWindow is far beyond any use, and far enough below the 292 years of a
	// time.Duration for sums to be safe.
	MaxWindow = 3650 * day

	// MinDefaultSlots is the fewest slots that a default granularity may give.
	// Fewer slots give up so much capacity that a rule must set granularity.
	MinDefaultSlots = 10
	// MaxDefaultSlots is the most slots that a default granularity gives.
	MaxDefaultSlots = 60

	day = 24 * time.Hour
)

// ParseDuration reads a length of time as Go writes it, such as "1m30s", with
// whole days in front if wanted: "1d", "1d12h". A day is 24 hours here.
// Anything above MaxWindow yields some length above MaxWindow.
func ParseDuration(text string) (length time.Duration, ok bool) {
	if strings.ContainsAny(text, "+-") {
		return 0, false
	}
	rest := text
	if days, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil {
			return 0, false
		}
		length = time.Duration(min(n, uint64(MaxWindow/day)+1)) * day
		if rest = after; rest == "" {
			return length, true
		}
	}
	d, err := time.ParseDuration(rest)
	return length + min(d, MaxWindow+1), err == nil
}

// FormatDuration writes a length of time as ParseDuration reads it: 2d for
// whole days, else as Duration.String does but without zeros at the end.
func FormatDuration(d time.Duration) string {
	if d != 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return ShortDuration(d)
}

// ShortDuration writes a duration as Duration.String does, but without zeros at
// the end: 250ms, 1m30s, 5m, 48h.
func ShortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// DefaultGranularity cuts a window into as many slots as it can, from
// MinDefaultSlots to MaxDefaultSlots: of whole seconds if the window is a
// minute or longer, else of whole tenths of a second. It returns 0 if the
// window does not divide so.
func DefaultGranularity(window time.Duration) time.Duration {
	unit := MinWindow
	if window >= time.Minute {
		unit = time.Second
	}
	for k := time.Duration(MaxDefaultSlots); k >= MinDefaultSlots; k-- {
		if window%(k*unit) == 0 {
			return window / k
		}
	}
	return 0
}
