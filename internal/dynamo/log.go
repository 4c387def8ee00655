package dynamo

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// logWrite charges a sliding window log (docs/design.md, section 3.3): it puts a whole new log in the place of the one
// that the view holds. The total only grows with every charge, so it tells whether the log is still the same.
type logWrite struct {
	letter string
	cost   int64
	known  bool  // the view has seen this limit charged
	total  int64 // then its total
	log    []byte
}

func planLog(v *view, i int, l *limit.Limit, now time.Time, cost int64) *logWrite {
	w := &logWrite{letter: letter(i), cost: cost}
	var state limit.State
	if v != nil {
		state = v.states[i].Clone()
		w.total = v.totals[i]
		_, w.known = state.Newest()
	}
	state.Take(l, now, cost)
	w.log = encodeLog(state.All())
	return w
}

func (w *logWrite) spell(x *expression, _ bool) {
	total := w.letter + attrTotal
	if w.known {
		x.require(x.name(total), "=", x.number(w.letter+"v", w.total))
	} else {
		x.require("attribute_not_exists(" + x.name(total) + ")")
	}
	x.set(total, x.number(w.letter+"c", w.total+w.cost))
	x.set(w.letter+attrLog, x.binary(w.letter+"l", w.log))
}

// encodeLog writes stamps, in ascending order, as varints: the time since the stamp before (the first one's since the
// Unix epoch) and the units, about six bytes each.
func encodeLog(stamps []limit.Slot) []byte {
	var log []byte
	var before int64
	for _, s := range stamps {
		log = binary.AppendVarint(log, s.Number-before)
		log = binary.AppendUvarint(log, uint64(s.Units))
		before = s.Number
	}
	return log
}

// readLog reads what encodeLog wrote.
func readLog(name string, value types.AttributeValue) ([]limit.Slot, error) {
	log, ok := value.(*types.AttributeValueMemberB)
	if !ok {
		return nil, fmt.Errorf("%w: attribute %s is missing or not binary", ErrForeign, name)
	}
	var stamps []limit.Slot
	var before int64
	for rest := log.Value; len(rest) > 0; {
		since, n := binary.Varint(rest)
		units, m := binary.Uvarint(rest[max(0, n):]) // where the first number cannot be read, nor can this one
		number := before + since                     // past 64 bits it goes back
		if m <= 0 || units == 0 || units > limit.MaxLog || len(stamps) > 0 && number <= before {
			return nil, fmt.Errorf("%w: attribute %s is no log", ErrForeign, name)
		}
		stamps = append(stamps, limit.Slot{Number: number, Units: int64(units)})
		before, rest = number, rest[n+m:]
	}
	return stamps, nil
}
