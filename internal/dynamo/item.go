package dynamo

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// Attribute names of an item. Those of a limit follow its letter: a for the rule's first limit by name, b for the next.
// A slot counter is the letter and the slot's number in lower-case base 36, so upper case never collides with it.
const (
	attrKey      = "k"
	attrLife     = "e"   // a random mark of this life of the item: views of another life write nothing
	attrTTL      = "ttl" // Unix seconds
	attrTotal    = "C"   // units ever charged; only grows
	attrNewest   = "H"   // the highest slot charged
	attrCredit   = "F"   // how far C may still grow under the last ceiling computed
	attrCapacity = "N"   // the capacity that this ceiling was computed for
	attrFull     = "T"   // of a bucket: when it is full again, in Unix nanoseconds; only grows
	attrLog      = "L"   // of a log: its stamps
)

func letter(i int) string { return string(rune('a' + i)) }

func slotName(letter string, slot int64) string { return letter + strconv.FormatInt(slot, 36) }

// ErrForeign is returned for an item that this package did not write, or that something else has changed.
var ErrForeign = errors.New("the stored counter is not readable; `slidegate reset RULE KEY` starts it afresh")

// view is a state of an item that was current at some moment. It is never changed, so callers may share it.
type view struct {
	life   string
	seen   time.Time // by the clock of the caller that asked
	totals []int64   // C, by limit, or a bucket's T: what only grows
	states []limit.State
}

// newView returns the view of an item whose limits were never charged.
func newView(life string, limits []limit.Limit, seen time.Time) *view {
	v := &view{life: life, seen: seen, totals: make([]int64, len(limits)), states: make([]limit.State, len(limits))}
	for i := range limits {
		if limits[i].Bucket() {
			v.totals[i] = math.MinInt64
		}
	}
	return v
}

// readView reads an item that counts these limits.
func readView(item map[string]types.AttributeValue, limits []limit.Limit, seen time.Time) (*view, error) {
	life, ok := item[attrLife].(*types.AttributeValueMemberS)
	if !ok || life.Value == "" {
		return nil, fmt.Errorf("%w: attribute %s is missing or no string", ErrForeign, attrLife)
	}
	v := newView(life.Value, limits, seen)
	slots, err := readSlots(item, limits)
	if err != nil {
		return nil, err
	}
	for i := range limits {
		if limits[i].Bucket() {
			err = v.readBucket(item, i)
		} else {
			err = v.readLimit(item, i, &limits[i], slots[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// readSlots collects what is charged to every limit that counts by slots, ascending by slot.
func readSlots(item map[string]types.AttributeValue, limits []limit.Limit) (slots [limit.MaxLimits][]limit.Slot, err error) {
	for name, value := range item {
		if name == "" {
			continue
		}
		i := int(name[0]) - 'a'
		if i < 0 || i >= len(limits) || limits[i].Bucket() {
			continue
		}
		if limits[i].Algorithm == limit.SlidingWindowLog {
			if name == letter(i)+attrLog {
				if slots[i], err = readLog(name, value); err != nil {
					return slots, err
				}
			}
			continue
		}
		number, err := strconv.ParseInt(name[1:], 36, 64)
		if err != nil || slotName(letter(i), number) != name {
			continue
		}
		units, err := readNumber(name, value)
		if err != nil {
			return slots, err
		}
		slots[i] = append(slots[i], limit.Slot{Number: number, Units: units})
	}
	for i := range slots {
		slices.SortFunc(slots[i], func(a, b limit.Slot) int { return cmp.Compare(a.Number, b.Number) })
	}
	return slots, nil
}

// readBucket reads when bucket i is full again.
func (v *view) readBucket(item map[string]types.AttributeValue, i int) error {
	name := letter(i) + attrFull
	if item[name] == nil {
		return nil // never charged in this life
	}
	full, err := readNumber(name, item[name])
	if err != nil {
		return err
	}
	if full > farthest || full < -farthest {
		return fmt.Errorf("%w: %s is %d, which is no time", ErrForeign, name, full)
	}
	v.totals[i], v.states[i].Bucket = full, limit.NewBucket(full)
	return nil
}

// readLimit reads what the item holds of limit i besides its slots. What does not add up is refused: a wrong ceiling
// reckoned from it could admit too much.
func (v *view) readLimit(item map[string]types.AttributeValue, i int, l *limit.Limit, slots []limit.Slot) error {
	newest, total := letter(i)+attrNewest, letter(i)+attrTotal
	if item[newest] == nil && item[total] == nil && len(slots) == 0 {
		return nil // never charged in this life: its costs were 0 until now
	}
	var err error
	if v.totals[i], err = readNumber(total, item[total]); err != nil {
		return err
	}
	if l.Algorithm != limit.SlidingWindowLog {
		h, err := readNumber(newest, item[newest])
		if err != nil {
			return err
		}
		if len(slots) == 0 || slots[len(slots)-1].Number != h {
			return fmt.Errorf("%w: %s does not name its newest slot", ErrForeign, newest)
		}
	}
	if len(slots) == 0 {
		return fmt.Errorf("%w: %s has no log", ErrForeign, total)
	}
	var sum int64
	for _, s := range slots {
		if !isTime(l, s.Number) {
			return fmt.Errorf("%w: slot %d is no time", ErrForeign, s.Number)
		}
		if s.Units < 0 || s.Units > v.totals[i]-sum {
			return fmt.Errorf("%w: the slots of %s do not add up", ErrForeign, total)
		}
		sum += s.Units
	}
	v.states[i].Slots = limit.NewSlots(slots)
	return nil
}

// farthest bounds the moments that are read, in nanoseconds from the Unix epoch: the year 2116. What is reckoned from them
// stays within 64 bits.
const farthest = 1 << 62

// isTime reports whether a slot begins within farthest. A calendar's windows have their nominal length for a granularity.
func isTime(l *limit.Limit, slot int64) bool {
	most := farthest / int64(l.Granularity)
	return -most <= slot && slot <= most
}

func readNumber(name string, value types.AttributeValue) (int64, error) {
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("%w: attribute %s is missing or no number", ErrForeign, name)
	}
	number, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: attribute %s is %q", ErrForeign, name, n.Value)
	}
	return number, nil
}
