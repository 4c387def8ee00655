package redis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// mostUnits is the largest number of units in a slot, as in counter.lua.
const mostUnits = 1<<53 - 1

// era is how many seconds before and after 1970 Unix nanoseconds cover, as in
// counter.lua.
const era = math.MaxInt64/int64(time.Second) - 1

// mostWindows is more than the days of a calendar in an era.
const mostWindows = 110_000

// mostRecords is the largest number of slots or stamps of a limit. Their units
// together fit 63 bits.
const mostRecords = limit.MaxLog + 1

var errReply = errors.New("the script's answer is malformed")

// answer is what the script returns.
type answer struct {
	charged bool
	now     time.Time // by which the script decided
	rest    []any     // counters not read yet
}

// readAnswer parses the head of a reply: 1 or 0, seconds, nanoseconds.
func readAnswer(reply []any) (*answer, error) {
	if len(reply) < 3 {
		return nil, fmt.Errorf("%w: %d parts", errReply, len(reply))
	}
	var head [3]int64
	for i := range head {
		n, ok := reply[i].(int64)
		if !ok {
			return nil, fmt.Errorf("%w: part %d is a %T", errReply, i, reply[i])
		}
		head[i] = n
	}
	if head[0] != 0 && head[0] != 1 || head[2] < 0 || head[2] >= int64(time.Second) {
		return nil, fmt.Errorf("%w: it begins with %v", errReply, head)
	}
	if _, ok := nanoseconds(head[1], head[2]); !ok {
		return nil, fmt.Errorf("%w: the server's time is %d", errReply, head[1])
	}
	return &answer{head[0] == 1, time.Unix(head[1], head[2]), reply[3:]}, nil
}

// counter parses the next counter, which has these limits.
func (a *answer) counter(limits []limit.Limit) (generation string, states []limit.State, err error) {
	if len(a.rest) < 1+len(limits) {
		return "", nil, fmt.Errorf("%w: a counter is missing", errReply)
	}
	texts := make([]string, 1+len(limits))
	for i := range texts {
		text, ok := a.rest[i].(string)
		if !ok {
			return "", nil, fmt.Errorf("%w: a field is a %T", errReply, a.rest[i])
		}
		texts[i] = text
	}
	a.rest = a.rest[len(texts):]
	states = make([]limit.State, len(limits))
	for i := range limits {
		if states[i], err = readState(&limits[i], texts[1+i]); err != nil {
			return "", nil, fmt.Errorf("%w (field %c: %w)", ErrForeign, 'a'+i, err)
		}
	}
	return texts[0], states, nil
}

// readState parses the field of one limit: a bucket's moment, or ascending
// "slot:units". The slots of a log are moments. An empty text is a limit never
// charged.
func readState(l *limit.Limit, text string) (s limit.State, err error) {
	n := strings.Count(text, " ") + 1
	switch {
	case text == "":
		return s, nil
	case l.Bucket():
		full, err := readMoment(text)
		s.Bucket = limit.NewBucket(full)
		return s, err
	case n > mostRecords:
		return s, fmt.Errorf("it has %d slots", n)
	}
	slots := make([]limit.Slot, 0, n)
	for record := range strings.SplitSeq(text, " ") {
		slot, err := readSlot(l, record)
		if err != nil {
			return s, err
		}
		if last := len(slots) - 1; last >= 0 && slots[last].Number >= slot.Number {
			return s, fmt.Errorf("slot %q is not in order", record)
		}
		slots = append(slots, slot)
	}
	s.Slots = limit.NewSlots(slots)
	return s, nil
}

func readSlot(l *limit.Limit, record string) (slot limit.Slot, err error) {
	number, units, _ := strings.Cut(record, ":")
	if l.Algorithm == limit.SlidingWindowLog {
		slot.Number, err = readMoment(number)
	} else {
		slot.Number, err = strconv.ParseInt(number, 10, 64)
	}
	if most := furthest(l); err != nil || slot.Number < -most || slot.Number > most {
		return slot, fmt.Errorf("slot %q has no number, or one out of range", record)
	}
	n, err := strconv.ParseUint(units, 10, 64)
	if err != nil || n > mostUnits {
		return slot, fmt.Errorf("slot %q has no number of units, or one out of range", record)
	}
	slot.Units = int64(n)
	return slot, nil
}

// furthest returns the highest number of a slot: its end must fit Unix
// nanoseconds.
func furthest(l *limit.Limit) int64 {
	if l.Calendar != nil {
		return mostWindows
	}
	return era*int64(time.Second)/int64(l.Granularity) - l.Slots() - 1
}

// readMoment parses "seconds.nanoseconds", with nine digits after the point, as
// Unix nanoseconds. The seconds are rounded down, so -1.250000000 is 0.75 s
// before the epoch.
func readMoment(text string) (int64, error) {
	whole, part, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	nanos, failed := strconv.ParseUint(part, 10, 64)
	moment, ok := nanoseconds(seconds, int64(nanos))
	if err != nil || failed != nil || len(part) != 9 || !ok {
		return 0, fmt.Errorf("%q is no time between 1678 and 2262", text)
	}
	return moment, nil
}

// nanoseconds joins seconds and nanoseconds; ok is false if they do not fit 64
// bits.
func nanoseconds(seconds, nanos int64) (moment int64, ok bool) {
	if seconds < -era || seconds > era {
		return 0, false
	}
	return seconds*int64(time.Second) + nanos, true
}
