package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/slidegate/slidegate/internal/limit"
)

// suffix returns how the names of counters with these limits end.
func suffix(limits []limit.Limit) string { return "|" + shape(limits) }

// shape returns 8 hex digits that stand for how the limits count: everything but how much they let through. It is part of
// a counter's name, so that limits which count otherwise never meet an older counter's state, while a changed capacity,
// burst or queue keeps it. The digits are stored: this text must never change.
func shape(limits []limit.Limit) string {
	var text strings.Builder
	for i := range limits {
		l := &limits[i]
		if i > 0 {
			text.WriteByte(',')
		}
		timezone, anchor := calendarShape(l.Calendar)
		fmt.Fprintf(&text, "%s/%s/%d/%d/%s/%s", l.Name, l.Algorithm, l.Window, l.Granularity, timezone, anchor)
	}
	return fmt.Sprintf("%016x", xxhash.Sum64String(text.String()))[:8]
}

// calendarShape spells where a calendar's windows begin; nothing for a window that is a plain span of time, and no anchor
// for months that start on the 1st.
func calendarShape(c *limit.Calendar) (timezone, anchor string) {
	if c == nil {
		return "", ""
	}
	if c.Anchor > 1 {
		anchor = strconv.Itoa(c.Anchor)
	}
	return c.Location.String(), anchor
}
