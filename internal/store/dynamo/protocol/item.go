package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// Item holds the attributes of a counter as DynamoDB stores them.
type Item = map[string]types.AttributeValue

// Attributes that an item has once, whatever its limits.
const (
	AttributeKey = "k"   // the counter's name
	AttributeTTL = "ttl" // Unix seconds after which DynamoDB may delete the item

	attributeGeneration = "e" // random; a deleted and recreated item has another
)

// Attributes of one limit. Each follows the limit's prefix: a for the rule's
// first limit by name, b for the next. A slot counter is the prefix and the
// slot's number in lower-case base 36, so it never collides with upper case.
const (
	attributeTotal    = "C" // units ever charged; only grows
	attributeNewest   = "H" // the highest slot charged
	attributeCredit   = "F" // how far C may still grow under the last ceiling
	attributeCapacity = "N" // the capacity of that ceiling
	attributeFull     = "T" // bucket: Unix nanoseconds when it is full; only a turn given back lowers it
	attributeLog      = "L" // log: its time stamps
)

// ErrForeign is returned for an item that this package did not write, or that
// another program has changed. No charge is admitted on such an item.
var ErrForeign = errors.New("the stored counter is not readable; `slidegate reset RULE KEY` or Limiter.Reset deletes it")

// PrimaryKey returns the primary key of a counter's item.
func PrimaryKey(key string) Item {
	return Item{AttributeKey: &types.AttributeValueMemberS{Value: key}}
}

func prefixOf(i int) string { return "abcdefgh"[i : i+1] }

func slotName(prefix string, slot int64) string { return prefix + strconv.FormatInt(slot, 36) }

// slotNumber reads the number in a slot's name. There is one spelling of it.
func slotNumber(text string) (number int64, ok bool) {
	if text == "" || text[0] >= 'A' && text[0] <= 'Z' {
		return 0, false // mostly another attribute of the limit
	}
	number, err := strconv.ParseInt(text, 36, 64)
	var spelled [16]byte
	return number, err == nil && string(strconv.AppendInt(spelled[:0], number, 36)) == text
}

// readSlots collects the slot counters of all limits, ascending. It ignores
// attributes that no limit owns.
func readSlots(item Item, limits []limit.Limit) (slots [limit.MaxLimits][]limit.Slot, err error) {
	for name, value := range item {
		if name == "" {
			continue
		}
		i := int(name[0]) - 'a'
		if i < 0 || i >= len(limits) || limits[i].Slotless() || limits[i].Algorithm == limit.SlidingWindowLog {
			continue
		}
		number, ok := slotNumber(name[1:])
		if !ok {
			continue
		}
		units, err := readNumber(name, value)
		if err != nil {
			return slots, err
		}
		if slots[i] == nil {
			slots[i] = make([]limit.Slot, 0, len(item))
		}
		slots[i] = append(slots[i], limit.Slot{Number: number, Units: units})
	}
	for i := range slots {
		slices.SortFunc(slots[i], func(a, b limit.Slot) int { return cmp.Compare(a.Number, b.Number) })
	}
	return slots, nil
}

// readBucket reads when bucket i is full again.
func (s *Snapshot) readBucket(item Item, i int) error {
	name := prefixOf(i) + attributeFull
	if item[name] == nil {
		return nil // never charged in this generation
	}
	full, err := readNumber(name, item[name])
	if err != nil {
		return err
	}
	if full > farthest || full < -farthest {
		return fmt.Errorf("%w: %s is %d, which is no time", ErrForeign, name, full)
	}
	s.states[i] = limit.NewBucket(full)
	return nil
}

// readLimit reads limit i, whose slot counters are given. It refuses numbers
// that contradict each other, because a ceiling computed from them could admit
// too much.
func (s *Snapshot) readLimit(item Item, i int, l *limit.Limit, slots []limit.Slot) (err error) {
	newest, total, log := prefixOf(i)+attributeNewest, prefixOf(i)+attributeTotal, prefixOf(i)+attributeLog
	if l.Algorithm == limit.SlidingWindowLog && item[log] != nil {
		if slots, err = readLog(log, item[log]); err != nil {
			return err
		}
	}
	if item[newest] == nil && item[total] == nil && len(slots) == 0 {
		return nil // never charged in this generation: its costs were 0 until now
	}
	if s.totals[i], err = readNumber(total, item[total]); err != nil {
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
	for _, slot := range slots {
		if !isTime(l, slot.Number) {
			return fmt.Errorf("%w: slot %d is no time", ErrForeign, slot.Number)
		}
		if slot.Units < 0 || slot.Units > s.totals[i]-sum {
			return fmt.Errorf("%w: the slots of %s do not add up", ErrForeign, total)
		}
		sum += slot.Units
	}
	s.states[i].Slots = limit.NewSlots(slots)
	return nil
}

// farthest bounds the times that are read, in nanoseconds from the Unix epoch:
// the year 2116. Sums of such times and windows stay within 64 bits.
const farthest = 1 << 62

// isTime reports whether a slot begins within farthest. The granularity of a
// calendar is the nominal length of its windows.
func isTime(l *limit.Limit, slot int64) bool {
	most := farthest / int64(l.Granularity)
	return -most <= slot && slot <= most
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
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
