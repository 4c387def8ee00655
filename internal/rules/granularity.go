package rules

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	minGranularity = 100 * time.Millisecond // below it a round trip to the store takes longer than a slot

	defaultSlots  = 60 // the most that a window is cut into where the document does not say
	fewestDefault = 10 // fewer give up so much room that a person has to say so
)

// defaultGranularity cuts a window into as many slots as it can, 10 to 60 of them, of whole seconds from a minute up and
// of whole tenths of a second below. It returns 0 for a window that does not divide so.
func defaultGranularity(window time.Duration) time.Duration {
	unit := minGranularity
	if window >= time.Minute {
		unit = time.Second
	}
	for k := time.Duration(defaultSlots); k >= fewestDefault; k-- {
		if window%(k*unit) == 0 {
			return window / k
		}
	}
	return 0
}

// noDefault says what to write for a window that has no default granularity.
func noDefault(window time.Duration) string {
	if window%minGranularity != 0 {
		return fmt.Sprintf("%s is no whole multiple of %s: write one that is, or state the granularity",
			formatDuration(window), formatDuration(minGranularity))
	}
	return fmt.Sprintf("%s does not divide into %d to %d even slots: state the granularity, such as granularity: %s, "+
		"or write a rounder window", formatDuration(window), fewestDefault, defaultSlots, nearestGranularity(window, window/defaultSlots))
}

// checkGranularity returns what is wrong with cutting the window of a sliding_window into slots of g, and what to write
// instead; nothing if it is fine.
func checkGranularity(window, g time.Duration) (problem string) {
	switch {
	case window%g != 0:
		return fmt.Sprintf("the window of %s is no whole multiple of %s: write %s", formatDuration(window), formatDuration(g),
			nearestGranularity(window, g))
	case window/g > limit.MaxSlots:
		return fmt.Sprintf("cuts the window of %s into %d slots, and %d is the most: write %s", formatDuration(window), window/g,
			limit.MaxSlots, nearestGranularity(window, g))
	}
	return ""
}

// nearestGranularity returns the width of slots nearest to g that a window can be cut into, in whole tenths of a second if
// the window is such. There always is one: the window itself.
func nearestGranularity(window, g time.Duration) string {
	unit := minGranularity
	if window%unit != 0 {
		unit = 1
	}
	wanted := min(window/g, limit.MaxSlots)
	for away := time.Duration(0); ; away++ {
		for _, k := range []time.Duration{wanted - away, wanted + away} {
			if k >= 1 && k <= limit.MaxSlots && window%(k*unit) == 0 && window/k >= minGranularity {
				return formatDuration(window / k)
			}
		}
	}
}
