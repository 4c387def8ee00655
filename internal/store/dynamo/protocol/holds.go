package protocol

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// Attributes of an item that has had holds. A hold's own attribute is holdPrefix
// and its ID in base64. Its value is binary: when it was opened and its end in
// Unix milliseconds, six bytes each so that values of one opening are ordered by their
// ends, and then for each limit the slot and the units that the charge took, as
// varints. With its name a place in flight takes 26 bytes, and a reservation about 31.
const (
	attributeHolds   = "I" // how many holds there are: a condition cannot count them
	attributeChanges = "V" // how often they have changed: orders snapshots
	holdPrefix       = "@"
)

const (
	timeSize = 6
	// maxEnded and maxOpened bound the holds that one write removes and opens:
	// DynamoDB accepts at most 300 operators and 4 KB of expression.
	maxEnded, maxOpened = 60, 20
)

func holdName(id uint64) string {
	return holdPrefix + base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, id))
}

func encodeHold(h *limit.Hold) []byte {
	value := append(encodeTime(h.Opened), encodeTime(h.End)...)
	for _, took := range h.Took {
		value = binary.AppendVarint(value, took.Slot)
		value = binary.AppendUvarint(value, uint64(took.Units))
	}
	return value
}

func encodeTime(millis int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(millis))[8-timeSize:]
}

func readTime(b []byte) int64 {
	return int64(binary.BigEndian.Uint64(append(make([]byte, 8-timeSize), b[:timeSize]...)))
}

// readHold reads the attribute of a hold, and refuses what this package has not
// written.
func readHold(name string, value types.AttributeValue, limits int) (h limit.Hold, err error) {
	id, err := base64.RawURLEncoding.Strict().DecodeString(name[len(holdPrefix):])
	b, ok := value.(*types.AttributeValueMemberB)
	if err != nil || len(id) != 8 || !ok || len(b.Value) < 2*timeSize {
		return h, fmt.Errorf("%w: attribute %s is no hold", ErrForeign, name)
	}
	h.ID = binary.BigEndian.Uint64(id)
	h.Opened, h.End = readTime(b.Value), readTime(b.Value[timeSize:])
	rest := b.Value[2*timeSize:]
	for range limits {
		slot, n := binary.Varint(rest)
		units, m := binary.Uvarint(rest[max(0, n):])
		if n <= 0 || m <= 0 || units > math.MaxInt64 {
			return h, fmt.Errorf("%w: attribute %s does not say what it took", ErrForeign, name)
		}
		h.Took, rest = append(h.Took, limit.Took{Slot: slot, Units: int64(units)}), rest[n+m:]
	}
	if h.ID == 0 || h.End > farthest/int64(time.Millisecond) || len(rest) > 0 {
		return h, fmt.Errorf("%w: attribute %s is no hold of this counter", ErrForeign, name)
	}
	return h, nil
}

// readHolds reads the holds of an item; nil if it has never had any.
func readHolds(item Item, limits int) (*limit.Holds, error) {
	if item[attributeHolds] == nil && item[attributeChanges] == nil {
		return nil, nil
	}
	count, err := readNumber(attributeHolds, item[attributeHolds])
	if err != nil {
		return nil, err
	}
	changes, err := readNumber(attributeChanges, item[attributeChanges])
	if err != nil {
		return nil, err
	}
	var open []limit.Hold
	for name, value := range item {
		if name[:min(1, len(name))] != holdPrefix {
			continue
		}
		hold, err := readHold(name, value, limits)
		if err != nil {
			return nil, err
		}
		open = append(open, hold)
	}
	if count != int64(len(open)) {
		return nil, fmt.Errorf("%w: %s counts %d holds of %d", ErrForeign, attributeHolds, count, len(open))
	}
	return limit.NewHolds(open, changes), nil
}

// holdPlan opens the holds of a write, and removes ended ones. If there is no room for
// the hold of a charge, the write only makes sure that it is not a repeated one.
type holdPlan struct {
	opened []limit.Hold
	before []*limit.Hold // by opened: a hold of the same ID that is over; nil for none
	ended  []limit.Hold
	freed  int // of before, those that have ended
	most   int64
	full   bool
}

// opens reports whether the charge opens a hold, as far as the snapshot shows. If the
// hold is there already, only the refusal of the write shows that it still is.
func (s *Snapshot) opens(c *limit.Charge, now time.Time) bool {
	return c.Reserves() && (s.held().Live(now) < c.MostHolds() || s.held().Find(c.Hold.ID) != nil && s.held().Over(c.Hold.ID, now) == nil)
}

// planHolds plans the holds of a charge that the snapshot does not deny. It
// removes as many ended holds as it opens, and more only if it has to: all callers
// see the same ones after a crash, and would refuse each other. So which ones it
// removes follows the ID, which is random.
func planHolds(s *Snapshot, opened []limit.Hold, most int64, now time.Time) *holdPlan {
	p := &holdPlan{opened: opened, before: make([]*limit.Hold, len(opened)), most: most}
	ended := slices.Clone(s.held().Ended(now))
	for i := range opened {
		if before := s.held().Over(opened[i].ID, now); before != nil {
			p.before[i] = before
			others := slices.DeleteFunc(ended, func(h limit.Hold) bool { return h.ID == before.ID })
			p.freed, ended = p.freed+len(ended)-len(others), others
		}
	}
	k := min(max(s.excess(len(opened), most), len(opened)), len(ended), maxEnded)
	if k > 0 {
		first := int(opened[0].ID % uint64(len(ended)))
		p.ended = append(ended[first:], ended[:first]...)[:k]
	}
	return p
}

// excess returns how many holds must go before so many can be opened.
func (s *Snapshot) excess(opened int, most int64) int {
	return len(s.held().All()) + opened - int(most)
}

func (p *holdPlan) addTo(u *Update) {
	gone := len(p.ended)
	for i := range p.opened {
		name := u.nameAs("id"+strconv.Itoa(i), holdName(p.opened[i].ID))
		if before := p.before[i]; before == nil {
			u.require("attribute_not_exists(" + name + ")")
		} else { // it must not have been renewed
			u.require(name, "=", u.binary("was"+strconv.Itoa(i), encodeHold(before)))
			gone++
		}
		if p.full {
			return
		}
		u.sets = append(u.sets, name+" = "+u.binary("id"+strconv.Itoa(i), encodeHold(&p.opened[i])))
	}
	u.removeEnded(p.ended)
	count, more := u.name(attributeHolds), int64(len(p.opened)-gone)
	room := p.most - int64(len(p.opened)-len(p.ended)-p.freed)
	u.require("(attribute_not_exists("+count+") OR", count, "<=", u.number("most", room)+")")
	u.set(attributeHolds, u.orElse(attributeHolds, u.number("zero", 0)), "+", u.number("more", more))
	u.changeHolds()
	u.keepTTL()
}

// removeEnded removes holds, none of which must have been renewed.
func (u *Update) removeEnded(ended []limit.Hold) {
	for i := range ended {
		label := "x" + strconv.Itoa(i)
		name := u.nameAs(label, holdName(ended[i].ID))
		u.require(name, "=", u.binary(label, encodeHold(&ended[i])))
		u.removals = append(u.removals, name)
	}
}

// changeHolds counts a change of the holds.
func (u *Update) changeHolds() {
	u.set(attributeChanges, u.orElse(attributeChanges, u.number("zero", 0)), "+", u.number("one", 1))
}

// keepTTL refuses the write if it would shorten the life of the item, and so of
// other holds. DynamoDB has no maximum.
func (u *Update) keepTTL() {
	name := u.name(AttributeTTL)
	u.require("(attribute_not_exists("+name+") OR", name, "<=", ":"+AttributeTTL+")")
}

// PlanRelease plans a write that only removes ended holds. It returns nil unless
// more have to go before the charge can open its own than its own write can remove:
// after a capacity was lowered, say, and all holders have crashed.
func PlanRelease(s *Snapshot, c *limit.Charge, now time.Time) *Update {
	ended := s.held().Ended(now)
	if !c.Reserves() || min(s.excess(1, c.MostHolds()), len(ended)) <= maxEnded {
		return nil
	}
	u := newUpdate()
	u.require(u.name(attributeGeneration), "=", u.generation(s.Generation))
	u.removeEnded(ended[:maxEnded])
	u.set(attributeHolds, u.name(attributeHolds), "-", u.number("gone", maxEnded))
	u.changeHolds()
	return u
}

// closeHold adds the removal of a receipt's hold to its settlement. The write can
// be repeated, because the hold is there once.
func (u *Update) closeHold(r *limit.Receipt) {
	name := u.nameAs("id", holdName(r.Hold))
	if r.Opened == 0 {
		u.require("attribute_exists(" + name + ")")
	} else {
		u.require(name, "<", u.binary("later", encodeTime(r.Opened+1)))
		u.requireOpening(name, r)
	}
	u.removals = append(u.removals, name)
	u.set(attributeHolds, u.name(attributeHolds), "-", u.number("one", 1))
	u.changeHolds()
}

// requireOpening refuses the write if the hold is gone, or of a later opening.
func (u *Update) requireOpening(name string, r *limit.Receipt) {
	u.require(name, ">=", u.binary("opened", encodeTime(r.Opened)))
}

// PlanRenewal plans to move the end of a receipt's hold to c.Hold.For from now,
// unless a later renewal has moved it further. The snapshot may be nil.
func PlanRenewal(s *Snapshot, c *limit.Charge, r *limit.Receipt, now, wall time.Time) *Update {
	u := newUpdate()
	renewed := c.HoldAt(now, &r.Slots)
	renewed.ID, renewed.Opened = r.Hold, r.Opened
	name := u.nameAs("id", holdName(r.Hold))
	u.require(u.name(attributeGeneration), "=", u.generation(r.Generation))
	u.require(name, "<", u.binary("id", encodeHold(&renewed)))
	u.requireOpening(name, r)
	u.sets = append(u.sets, name+" = :id")
	u.changeHolds()
	u.set(AttributeTTL, u.number(AttributeTTL, max(s.lasts(), ttl(c.Hold.For, wall))))
	u.keepTTL()
	return u
}

// held returns the holds that the snapshot shows.
func (s *Snapshot) held() *limit.Holds {
	if s == nil {
		return nil
	}
	return s.holds
}

// lasts returns the ttl that the snapshot shows, which no write of a hold may shorten.
func (s *Snapshot) lasts() int64 {
	if s == nil {
		return 0
	}
	return s.ttl
}

// Holds returns the holds that the snapshot shows.
func (s *Snapshot) Holds() *limit.Holds { return s.held() }

// Unsure returns the snapshot for a clock that is not confirmed: no hold has ended
// by it.
func (s *Snapshot) Unsure() *Snapshot {
	if len(s.held().All()) == 0 {
		return s
	}
	unsure := *s
	unsure.holds = s.holds.Endless()
	return &unsure
}
