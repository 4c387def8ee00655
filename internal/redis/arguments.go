package redis

import (
	"fmt"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// The script's modes.
const (
	modeCharge = "charge" // all counters or none
	modePeek   = "peek"   // writes nothing
	modeSettle = "settle"
)

// arguments are the script's arguments. counter.lua explains each beside the
// word that reads it.
type arguments []any

// newArguments starts with the mode and the time: the caller's, or none for the
// server's own.
func newArguments(mode string, now time.Time, callerClock bool) arguments {
	if !callerClock {
		return arguments{mode, "", ""}
	}
	return arguments{mode}.moment(now)
}

func (a arguments) number(n int64) arguments { return append(a, strconv.FormatInt(n, 10)) }

func (a arguments) moment(t time.Time) arguments {
	return a.number(t.Unix()).number(int64(t.Nanosecond()))
}

func (a arguments) duration(d time.Duration) arguments {
	return a.number(int64(d / time.Second)).number(int64(d % time.Second))
}

// counter adds a counter, with the units to take from each limit. They are the
// costs of a charge, whose receipt is empty, or the corrections of a receipt's
// charge.
func (a arguments) counter(now time.Time, c *limit.Charge, generation string, r *limit.Receipt, units []int64) arguments {
	a = append(a, generation, r.Generation).number(int64(len(c.Limits)))
	for i := range c.Limits {
		a = a.limit(now, &c.Limits[i], min(units[i], limit.MaxCapacity+1), r.Slots[i]) // a larger cost might not fit a Lua number
	}
	return a
}

// limit adds a limit and the arguments of its kind. A correction refunds units
// to the slot.
func (a arguments) limit(now time.Time, l *limit.Limit, units, slot int64) arguments {
	ofKind := func(kind string) arguments { return append(a, kind).number(l.Capacity).number(units).number(slot) }
	switch {
	case l.Bucket():
		need := time.Duration(min(units, l.Burst+1)) * l.Interval() // a larger cost is denied too, and could overflow
		return ofKind("bucket").duration(l.Drain()).duration(need)
	case l.Algorithm == limit.SlidingWindowLog:
		return ofKind("log").duration(l.Window)
	case l.Calendar != nil:
		return ofKind("calendar").windows(now, l)
	case l.Algorithm == limit.SlidingWindowCounter:
		a = ofKind("weighted")
	default:
		a = ofKind("slots")
	}
	return a.number(l.Slots()).number(l.Granularity.Microseconds())
}

// windows adds the number of the window that holds now, and when the one before
// it, itself and the next two start. The server finds its own window from these
// by its own clock, if the two clocks are less than a window apart.
func (a arguments) windows(now time.Time, l *limit.Limit) arguments {
	window := l.SlotAt(now)
	a = a.number(window)
	for i := range int64(4) {
		a = a.number(now.Add(l.Until(window-1+i, now)).Unix())
	}
	return a
}

// check refuses what the script cannot count exactly: it has 53 bits for a time
// in microseconds.
func check(c *limit.Charge) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Limits {
		l := &c.Limits[i]
		if l.Algorithm != limit.SlidingWindowLog && l.Granularity%time.Microsecond != 0 {
			return fmt.Errorf("limit %q: slots of %v: redis counts in whole microseconds", l.Name, l.Granularity)
		}
	}
	return nil
}
