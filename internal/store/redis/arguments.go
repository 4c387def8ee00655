package redis

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// The script's modes.
const (
	modeCharge = 'c' // all counters or none
	modePeek   = 'p' // writes nothing
	modeSettle = 's'
)

// arguments is one of the script's arguments, packed as lua/head.lua explains.
type arguments []byte

// common returns the argument that all counters of a call share: the mode and
// the caller's time, if that decides. It is nil for a charge by the server's
// clock, which most calls are.
func common(mode byte, now time.Time, callerClock bool) []byte {
	switch {
	case callerClock:
		return arguments{mode}.moment(now)
	case mode == modeCharge:
		return nil
	}
	return arguments{mode}
}

// number adds a number, which must be exact in 53 bits.
func (a arguments) number(n int64) arguments {
	return binary.BigEndian.AppendUint64(a, math.Float64bits(float64(n)))
}

// prefixed adds a string behind one byte with its length.
func (a arguments) prefixed(s string) arguments { return append(append(a, byte(len(s))), s...) }

func (a arguments) moment(t time.Time) arguments {
	return a.number(t.Unix()).number(int64(t.Nanosecond()))
}

func (a arguments) duration(d time.Duration) arguments {
	return a.number(int64(d / time.Second)).number(int64(d % time.Second))
}

// counter returns the argument of a counter: the mark of a new generation, and
// the limits with the units to take from each. They are the costs of a charge, or
// the corrections of one. The hold is the one to open, to close (for no time) or
// to renew. It adds the kinds that the script needs to k.
func counter(now time.Time, c *limit.Charge, generation string, units []int64, hold limit.Opening, k *kinds) []byte {
	a := append(make(arguments, 0, 128).prefixed(generation), byte(len(c.Limits)))
	if hold.ID != 0 {
		*k |= 1 << inFlight
		a = binary.BigEndian.AppendUint64(append(a, 'h'), hold.ID)
		a = arguments(a).duration(hold.For).number(hold.Most)
	}
	for i := range c.Limits {
		l := &c.Limits[i]
		kind := kindOf(l)
		*k |= 1 << kind
		cost := min(units[i], limit.MaxCapacity+1) // a larger cost might not be exact
		a = append(a, letters[kind]).number(l.Capacity).number(cost).limit(now, l, kind, cost)
	}
	return a
}

// limit adds the arguments of the limit's kind.
func (a arguments) limit(now time.Time, l *limit.Limit, k kind, cost int64) arguments {
	switch k {
	case bucket:
		need := time.Duration(min(cost, l.Burst+1)) * l.Interval() // a larger cost is denied too, and could overflow
		return a.duration(l.Drain()).duration(need)
	case log:
		return a.duration(l.Window)
	case calendar:
		return a.windows(now, l)
	case inFlight:
		return a
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

// receipt returns the argument that names the charge to correct: the slot of
// each limit, or when a bucket's turn comes and when it leaves the bucket full.
func receipt(c *limit.Charge, r *limit.Receipt) []byte {
	a := arguments{}.prefixed(r.Generation)
	for i := range c.Limits {
		if l := &c.Limits[i]; l.Bucket() {
			a = a.moment(time.Unix(0, l.Turn(r.Slots[i], c.Costs[i]))).moment(time.Unix(0, r.Slots[i]))
		} else {
			a = a.number(r.Slots[i])
		}
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
