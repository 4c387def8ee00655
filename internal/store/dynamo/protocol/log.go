package protocol

import (
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// logPlan charges a sliding window log: it replaces the log of the snapshot by
// a whole new one. The total grows with every charge, so it serves as the
// version that the condition compares.
//
// Trade-off: processes that charge one key at once make each other fail, so a
// log suits small capacities.
type logPlan struct {
	prefix  string
	cost    int64
	charged bool  // the snapshot shows this limit charged
	total   int64 // then its total
	log     []byte
}

func planLog(s *Snapshot, i int, l *limit.Limit, now time.Time, cost int64) *logPlan {
	p := &logPlan{prefix: prefixOf(i), cost: cost}
	state := s.known()[i].Clone()
	if _, p.charged = state.Newest(); p.charged {
		p.total = s.totals[i]
	}
	state.Take(l, now, cost)
	p.log = encodeLog(state.All())
	return p
}

func (p *logPlan) addTo(u *Update, _ bool) {
	total := p.prefix + attributeTotal
	if p.charged {
		u.require(u.name(total), "=", u.number(p.prefix+"v", p.total))
	} else {
		u.require("attribute_not_exists(" + u.name(total) + ")")
	}
	u.set(total, u.number(p.prefix+"c", p.total+p.cost))
	u.set(p.prefix+attributeLog, u.binary(p.prefix+"l", p.log))
}

// encodeLog encodes time stamps, in ascending order, as pairs of varints: the
// nanoseconds since the stamp before (the first: since the Unix epoch) and the
// units. A stamp takes about six bytes.
func encodeLog(stamps iter.Seq[limit.Slot]) []byte {
	var log []byte
	var before int64
	for s := range stamps {
		log = binary.AppendVarint(log, s.Number-before)
		log = binary.AppendUvarint(log, uint64(s.Units))
		before = s.Number
	}
	return log
}

// readLog decodes what encodeLog encoded, and refuses everything else.
func readLog(name string, value types.AttributeValue) ([]limit.Slot, error) {
	log, ok := value.(*types.AttributeValueMemberB)
	if !ok {
		return nil, fmt.Errorf("%w: attribute %s is missing or not binary", ErrForeign, name)
	}
	var stamps []limit.Slot
	var before int64
	for rest := log.Value; len(rest) > 0; {
		since, n := binary.Varint(rest)
		units, m := binary.Uvarint(rest[max(0, n):]) // 0 if n or m is an error
		number := before + since                     // an overflow goes backwards
		if units == 0 || units > limit.MaxLog || len(stamps) > 0 && number <= before {
			return nil, fmt.Errorf("%w: attribute %s is no log", ErrForeign, name)
		}
		stamps = append(stamps, limit.Slot{Number: number, Units: int64(units)})
		before, rest = number, rest[n+m:]
	}
	return stamps, nil
}
