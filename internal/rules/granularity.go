package rules

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// noDefault says what to write for a window that has no default granularity.
func noDefault(window time.Duration) string {
	if window%ruledoc.MinWindow != 0 {
		return fmt.Sprintf("%s is no whole multiple of %s: write one that is, or state the granularity",
			ruledoc.FormatDuration(window), ruledoc.FormatDuration(ruledoc.MinWindow))
	}
	return fmt.Sprintf("%s does not divide into %d to %d even slots: state the granularity, such as granularity: %s, "+
		"or write a rounder window", ruledoc.FormatDuration(window), ruledoc.MinDefaultSlots, ruledoc.MaxDefaultSlots, nearestGranularity(window, window/ruledoc.MaxDefaultSlots))
}

// checkGranularity returns what is wrong with cutting the window of a sliding_window into slots of g, and what to write
// instead; nothing if it is fine.
func checkGranularity(window, g time.Duration) (problem string) {
	switch {
	case window%g != 0:
		return fmt.Sprintf("the window of %s is no whole multiple of %s: write %s", ruledoc.FormatDuration(window), ruledoc.FormatDuration(g),
			nearestGranularity(window, g))
	case window/g > limit.MaxSlots:
		return fmt.Sprintf("cuts the window of %s into %d slots, and %d is the most: write %s", ruledoc.FormatDuration(window), window/g,
			limit.MaxSlots, nearestGranularity(window, g))
	}
	return ""
}

// nearestGranularity returns the width of slots nearest to g that a window can be cut into, in whole tenths of a second if
// the window is such. There always is one: the window itself.
func nearestGranularity(window, g time.Duration) string {
	unit := ruledoc.MinWindow
	if window%unit != 0 {
		unit = 1
	}
	wanted := min(window/g, limit.MaxSlots)
	for away := time.Duration(0); ; away++ {
		for _, k := range []time.Duration{wanted - away, wanted + away} {
			if k >= 1 && k <= limit.MaxSlots && window%(k*unit) == 0 && window/k >= ruledoc.MinWindow {
				return ruledoc.FormatDuration(window / k)
			}
		}
	}
}
