package redis

import (
	"encoding/binary"
	"math"
	"strings"
)

// PackDouble packs a number as the script does.
func PackDouble(n float64) string {
	return string(binary.BigEndian.AppendUint64(nil, math.Float64bits(n)))
}

// PackSlot packs a slot before the newest of a window, or a time in a log.
func PackSlot(at float64, nanos uint32, units float64) string {
	return PackBucket(at, nanos) + PackDouble(units)
}

// PackWindow packs the field of a window or a log: the newest slot, and the units
// of the slots before it.
func PackWindow(at float64, nanos uint32, units, before float64) string {
	return PackSlot(at, nanos, units) + PackDouble(before)
}

// PackBucket packs when a bucket is full again.
func PackBucket(seconds float64, nanos uint32) string {
	return PackDouble(seconds) + string(binary.BigEndian.AppendUint32(nil, nanos))
}

// PackSlots packs n slots of one unit each, from a number on.
func PackSlots(from float64, n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(PackSlot(from+float64(i), 0, 1))
	}
	return text.String()
}
