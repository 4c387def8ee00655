package rules

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/slidegate/slidegate/internal/limit"
)

// shape returns 8 hex digits that stand for how the limits count: everything but their capacities. It is part of a
// counter's name, so that limits which count otherwise never meet an older counter's state, while a changed capacity
// keeps it. The digits are stored: this text must never change.
func shape(limits []limit.Limit) string {
	const timezone, anchor = "", "" // of calendar windows; every window here is a plain span of time
	var text strings.Builder
	for i, l := range limits {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "%s/%s/%d/%d/%s/%s", l.Name, l.Algorithm, l.Window, l.Granularity, timezone, anchor)
	}
	return fmt.Sprintf("%016x", xxhash.Sum64String(text.String()))[:8]
}
