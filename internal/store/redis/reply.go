package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// mostUnits is the largest number of units in a window, as in lua/head.lua.
const mostUnits = 1<<53 - 1

// era is how many seconds before and after 1970 Unix nanoseconds cover, as in
// lua/head.lua.
const era = math.MaxInt64/int64(time.Second) - 1

// mostMillis is the last end of a hold, as in lua/kinds.lua.
const mostMillis = (era - 3) * 1000

// mostWindows is more than the days of a calendar in an era.
const mostWindows = 110_000

// mostRecords is the largest number of slots or stamps of a limit.
const mostRecords = limit.MaxLog + 1

// The sizes of the stored fields, as in lua/window.lua and lua/bucket.lua.
const (
	windowSize = 28
	slotSize   = 20
	bucketSize = 12
	holdSize   = 24 // and
	tookSize   = 16 // for each limit
)

var errReply = errors.New("the script's answer is malformed")

// answer is what the script returns.
//
// After a charge of 3 in one sliding window at 12:00:30, charged is true, now is
// 12:00:30 by the deciding clock, and rest holds the counter: its generation,
// the window's state, and no older slots.
type answer struct {
	charged bool
	now     time.Time // by which the script decided
	rest    string    // counters not read yet
	holds   bool      // each counter ends with its holds
}

// readAnswer parses the head of a reply: whether it charged, seconds and
// nanoseconds.
func readAnswer(reply string) (a answer, err error) {
	if len(reply) < 17 {
		return a, fmt.Errorf("%w: %d bytes", errReply, len(reply))
	}
	seconds, whole := number(reply[1:])
	nanos, also := number(reply[9:])
	if reply[0] > 1 || !whole || !also || nanos < 0 || nanos >= int64(time.Second) || seconds < -era || seconds > era {
		return a, fmt.Errorf("%w: it begins with %d, and the time %d.%d", errReply, reply[0], seconds, nanos)
	}
	return answer{charged: reply[0] == 1, now: time.Unix(seconds, nanos), rest: reply[17:]}, nil
}

// number returns the packed number at the beginning of a field; whole is false
// for one that is no integer of 53 bits.
func number(field string) (n int64, whole bool) {
	f := math.Float64frombits(binary.BigEndian.Uint64([]byte(field[:8])))
	n = int64(f)
	return n, -mostUnits <= f && f <= mostUnits && float64(n) == f
}

// next returns the next field of the reply, whose length precedes it in so many
// bytes.
func (a *answer) next(bytes int) (field string, err error) {
	size, whole := 0, len(a.rest) >= bytes
	for i := 0; whole && i < bytes; i++ {
		size = size<<8 | int(a.rest[i])
	}
	if !whole || len(a.rest) < bytes+size {
		return "", fmt.Errorf("%w: it ends in a counter", errReply)
	}
	field, a.rest = a.rest[bytes:bytes+size], a.rest[bytes+size:]
	return field, nil
}

// counted is what a reply says of one counter: for a rule of one limit, such as
// generation "q83vASNFZ4mrze8B" and the one state.
type counted struct {
	generation string
	states     []limit.State
	// sums is set if the slots before the newest of a limit are not in the reply.
	// They are in its state as one slot, with which the results of a charge just
	// made are right.
	sums   bool
	holds  *limit.Holds // nil if the reply does not say
	opened bool         // the charge has opened its hold
	before bool         // it was made before, and its hold is open
}

// counter parses the state of the charge's counter, which is the next. The
// script leaves out slots only of limits that it has just charged.
func (a *answer) counter(c *limit.Charge) (ct counted, err error) {
	if ct.generation, err = a.next(1); err != nil {
		return ct, err
	}
	ct.states = make([]limit.State, len(c.Limits))
	for i := range c.Limits {
		state, err := a.next(1)
		if err != nil {
			return ct, err
		}
		older, err := a.next(4)
		if err != nil {
			return ct, err
		}
		sum, err := readState(&c.Limits[i], state, older, &ct.states[i])
		if err == nil && sum && (!a.charged || c.Costs[i] == 0) {
			err = errState
		}
		if err != nil {
			return ct, fmt.Errorf("%w (field %c: %w)", ErrForeign, 'a'+i, err)
		}
		ct.sums = ct.sums || sum
	}
	if !a.holds {
		return ct, nil
	}
	word, err := a.next(1)
	if err != nil {
		return ct, err
	}
	packed, err := a.next(4)
	if err != nil {
		return ct, err
	}
	ct.opened, ct.before = word == "opened", word == "before"
	if ct.holds, err = readHolds(len(c.Limits), packed); err != nil {
		return ct, fmt.Errorf("%w (field holds: %w)", ErrForeign, err)
	}
	return ct, nil
}

// readHolds parses the holds of a counter with so many limits, as lua/head.lua
// describes them.
func readHolds(limits int, packed string) (*limit.Holds, error) {
	size := holdSize + tookSize*limits
	if len(packed)%size != 0 || len(packed) > limit.MaxHolds*size {
		return nil, errState
	}
	open := make([]limit.Hold, len(packed)/size)
	for i := range open {
		field, h := packed[i*size:], &open[i]
		end, ok := number(field[8:])
		opened, whole := number(field[16:])
		h.Opened, ok = opened, ok && whole
		h.ID, h.End, h.Took = binary.BigEndian.Uint64([]byte(field[:8])), end, make([]limit.Took, limits)
		if !ok || h.ID == 0 || end < -mostMillis || end > mostMillis || i > 0 && open[i-1].End > end {
			return nil, errState
		}
		for j := range h.Took {
			took := field[holdSize+j*tookSize:]
			slot, ok := number(took)
			units, whole := number(took[8:])
			if !ok || !whole || units < 0 {
				return nil, errState
			}
			h.Took[j] = limit.Took{Slot: slot, Units: units}
		}
	}
	return limit.NewHolds(open, 0), nil
}

var errState = errors.New("it is not what the script writes")

// readState parses the fields of one limit, as lua/head.lua describes them. An
// empty state is a limit never charged. If the slots before the newest are left
// out, it reports true, and s has their units in one slot.
func readState(l *limit.Limit, state, older string, s *limit.State) (sum bool, err error) {
	switch {
	case state == "" && older == "":
		return false, nil
	case l.Algorithm == limit.InFlight:
		return false, errState
	case l.Bucket():
		if len(state) != bucketSize || older != "" {
			return false, errState
		}
		full, ok := moment(state)
		*s = limit.NewBucket(full)
		return false, wanted(ok)
	case len(state) != windowSize:
		return false, errState
	}
	newest, ok := readSlot(l, state)
	before, whole := number(state[slotSize:])
	switch {
	case !ok || !whole || before < 0 || newest.Units+before > mostUnits:
		return false, errState
	case older != "":
		s.Slots, err = readSlots(l, older, newest, before)
		return false, err
	case before == 0:
		s.Slots = limit.NewSlots([]limit.Slot{newest})
		return false, nil
	}
	s.Slots = limit.NewSlots([]limit.Slot{{Number: newest.Number - 1, Units: before}, newest})
	return l.Slots() != 1, nil
}

// readSlots parses the slots before the newest, which hold so many units.
func readSlots(l *limit.Limit, older string, newest limit.Slot, before int64) (s limit.Slots, err error) {
	n := len(older) / slotSize
	if len(older)%slotSize != 0 || n > mostRecords {
		return s, errState
	}
	slots := make([]limit.Slot, 0, n+1)
	for i := range n + 1 {
		slot, ok := newest, true
		if i < n {
			slot, ok = readSlot(l, older[i*slotSize:])
			before -= slot.Units
		}
		if !ok || before < 0 || i > 0 && slots[i-1].Number >= slot.Number {
			return s, errState
		}
		slots = append(slots, slot)
	}
	return limit.NewSlots(slots), wanted(before == 0)
}

// readSlot parses a slot: its number or time, and its units.
func readSlot(l *limit.Limit, packed string) (slot limit.Slot, ok bool) {
	if l.Algorithm == limit.SlidingWindowLog {
		slot.Number, ok = moment(packed)
	} else {
		slot.Number, ok = number(packed)
		ok = ok && binary.BigEndian.Uint32([]byte(packed[8:12])) == 0
	}
	most := furthest(l)
	units, whole := number(packed[12:])
	slot.Units = units
	return slot, ok && whole && -most <= slot.Number && slot.Number <= most && units >= 0
}

// furthest returns the highest number of a slot: its end must fit Unix
// nanoseconds.
func furthest(l *limit.Limit) int64 {
	if l.Calendar != nil {
		return mostWindows
	}
	return era*int64(time.Second)/int64(l.Granularity) - l.Slots() - 1
}

// moment parses seconds and nanoseconds as Unix nanoseconds. The seconds are
// rounded down, so -2 s and 250,000,000 ns are 1.75 s before 1970.
func moment(packed string) (ns int64, ok bool) {
	seconds, ok := number(packed)
	nanos := int64(binary.BigEndian.Uint32([]byte(packed[8:12])))
	if !ok || seconds < -era || seconds > era || nanos >= int64(time.Second) {
		return 0, false
	}
	return seconds*int64(time.Second) + nanos, true
}

func wanted(ok bool) error {
	if !ok {
		return errState
	}
	return nil
}
