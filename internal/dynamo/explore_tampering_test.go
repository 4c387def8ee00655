package dynamo

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// What mutants do that takes more than a replacement of text.

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// revive lets a write with a view pass through attribute_not_exists, as a write without one does.
func revive(p *parts) {
	if !strings.Contains(p.condition, "#e = :e") || !strings.Contains(p.update, "#aC = #aC + :ac") {
		return
	}
	p.condition = "attribute_not_exists(#aH) OR (" + p.condition + ")"
	p.update = strings.NewReplacer("#aC = #aC + :ac", "#e = :e, #aC = if_not_exists(#aC, :zero) + :ac",
		":ab - #aC", ":ab - if_not_exists(#aC, :zero)", "#aF = #aF - :ac", "#aF = if_not_exists(#aF, :zero) - :ac").Replace(p.update)
}

func valueIn(p *parts, name string) int64 {
	n, err := readNumber(name, p.values[name])
	if err != nil {
		panic(err)
	}
	return n
}

// looser raises the ceiling of the condition, and not the credit that is worked out from it.
func looser(p *parts) {
	if p.values[":ab"] != nil && strings.Contains(p.condition, ":ab") {
		p.values[":looser"] = number(valueIn(p, ":ab") + 1)
		p.condition = strings.ReplaceAll(p.condition, "#aC <= :ab", "#aC <= :looser")
	}
}

func looserBucket(p *parts) {
	if p.values[":al"] != nil && p.names["#aT"] != "" {
		p.values[":al"] = number(valueIn(p, ":al") + int64(2*tick))
	}
}

// creditFromView takes the total that the view has seen for the total now.
func creditFromView(p *parts) {
	if strings.Contains(p.update, ":ab - #aC") {
		p.values[":seen"] = number(p.sent.view.totals[0])
		p.update = strings.ReplaceAll(p.update, ":ab - #aC", ":ab - :seen")
	}
}

// slotUpdate is what raises a slot's counter.
func slotUpdate(p *parts) (text, name string) {
	for assignment := range strings.SplitSeq(strings.TrimPrefix(p.update, "SET "), ", #") {
		name, _, _ := strings.Cut(strings.TrimPrefix(assignment, "#"), " = ")
		if _, ok := slotOf(name); ok {
			return "#" + name + " = if_not_exists(#" + name + ", :zero)", "#" + name
		}
	}
	return "", ""
}

func setSlot(p *parts) {
	if text, name := slotUpdate(p); text != "" {
		p.update = strings.ReplaceAll(p.update, text+" + :ac", name+" = :ac")
	}
}

// removeTooFar removes the oldest slot that still counts.
func removeTooFar(p *parts) {
	l := &p.sent.of.Limits[0]
	if l.Slots() == 0 || l.Algorithm > limit.FixedWindow {
		return
	}
	p.names["#last"] = slotName("a", newestOf(p)-l.Slots())
	if strings.Contains(p.update, "REMOVE ") {
		p.update += ", #last"
	} else {
		p.update += " REMOVE #last"
	}
}

// newestOf is the slot that a write charges, or else the newest one that its view has seen.
func newestOf(p *parts) int64 {
	if p.values[":aq"] != nil {
		return valueIn(p, ":aq")
	}
	newest, _ := p.sent.view.states[0].Newest()
	return newest
}

func eachSlot(w *write, f func(*slotWrite)) {
	for _, lw := range w.limits {
		if s, ok := lw.(*slotWrite); ok {
			f(s)
		}
	}
}

// usedFrom returns the units of a view's slots from one on.
func usedFrom(v *view, i int, first int64) (units int64) {
	for _, s := range v.states[i].All() {
		if s.Number >= first {
			units += s.Units
		}
	}
	return units
}

// ownSlot charges the slot of the caller's clock, also where the view has seen a later one.
func ownSlot(w *write, v *view, c *limit.Charge, now time.Time) {
	eachSlot(w, func(s *slotWrite) {
		if l := &c.Limits[index(s.letter)]; s.known && l.Algorithm != limit.SlidingWindowCounter {
			s.slot = l.SlotAt(now)
		}
	})
	ownWindow(w, v, c, now)
}

// ownWindow reckons with the window that ends at the caller's clock.
func ownWindow(w *write, v *view, c *limit.Charge, now time.Time) {
	eachSlot(w, func(s *slotWrite) {
		if i := index(s.letter); s.known && c.Limits[i].Algorithm != limit.SlidingWindowCounter {
			l := &c.Limits[i]
			first := l.SlotAt(now) - l.Slots()
			s.ceiling = v.totals[i] - usedFrom(v, i, first) + l.Capacity - s.cost
			s.expired = slotsBefore(&v.states[i].Slots, first)
		}
	})
}

// floorTail rounds the weight of the older window down.
func floorTail(w *write, v *view, c *limit.Charge, now time.Time) {
	eachSlot(w, func(s *slotWrite) {
		i := index(s.letter)
		l := &c.Limits[i]
		if !s.known || l.Algorithm != limit.SlidingWindowCounter {
			return
		}
		newer := usedFrom(v, i, s.slot)
		older := usedFrom(v, i, s.slot-1) - newer
		elapsed := max(0, -l.Until(s.slot, now))
		s.ceiling = v.totals[i] - newer - older*int64(l.Window-elapsed)/int64(l.Window) + l.Capacity - s.cost
	})
}

// ttlFromClock reckons the ttl from the slot of the caller's clock.
func ttlFromClock(w *write, _ *view, c *limit.Charge, now time.Time) {
	own := currentSlots(nil, c.Limits, now)
	w.ttl = expiry(nil, c.Limits, &own, now, now)
}

// ttlOfCharged leaves limits out of the ttl that the charge takes nothing from.
func ttlOfCharged(w *write, v *view, c *limit.Charge, now time.Time) {
	slots := currentSlots(v, c.Limits, now)
	w.ttl = 0
	for i := range c.Limits {
		if c.Costs[i] > 0 {
			one := [limit.MaxLimits]int64{slots[i]}
			w.ttl = max(w.ttl, expiry(nil, c.Limits[i:i+1], &one, now, now))
		}
	}
}

// unseenIsNew has a view that has not seen a limit charge it as if nobody had since.
func unseenIsNew(p *parts) {
	if p.sent.view != nil {
		condition("attribute_not_exists(#aH)", "attribute_exists(#e)", "attribute_not_exists(#bH)", "attribute_exists(#e)").tamper(p)
	}
}

// oneMark gives every life the same mark.
func oneMark(p *parts) { p.values[":e"] = textValue("one") }

// anyCredit takes a unit of credit for enough.
func anyCredit(p *parts) {
	if strings.Contains(p.condition, "#aF >= :ac") {
		p.values[":one"] = number(1)
		p.condition = strings.ReplaceAll(p.condition, "#aF >= :ac", "#aF >= :one")
	}
}

func removeNothing(w *write, _ *view, _ *limit.Charge, _ time.Time) {
	eachSlot(w, func(s *slotWrite) { s.expired = nil })
}

func ttlWithoutSlack(w *write, _ *view, _ *limit.Charge, _ time.Time) {
	w.ttl -= int64(slack / time.Second)
}

// sameVersion leaves a log's version where it was.
func sameVersion(p *parts) {
	if p.values[":av"] != nil {
		p.values[":ac"] = p.values[":av"]
	}
}

func noFloor(p *parts) {
	if i := strings.Index(p.condition, " >= :ar AND "); i >= 0 {
		p.condition = p.condition[i+len(" >= :ar AND "):]
	}
}

func lowerTotal(p *parts) {
	p.names["#aC"] = "aC"
	p.update += ", #aC = #aC - :ar"
}

func raiseCredit(p *parts) {
	p.names["#aF"] = "aF"
	p.update += ", #aF = #aF + :ar"
}

// stillCounts refuses to give back what has left the window.
func stillCounts(p *parts) {
	l := &p.sent.of.Limits[0]
	last := l.SlotAt(dawn) + int64(p.sent.marks[0].at) + l.Slots()
	p.names["#aH"], p.values[":last"] = "aH", number(last)
	p.condition += " AND #aH <= :last"
}

// forgetOlder drops what others have charged from a view's slots, and not from its total.
func forgetOlder(v *view) {
	slots := v.states[0].All()
	v.states[0].Slots = limit.NewSlots(slots[len(slots)-1:])
}

// countTwice has a view count its charge twice.
func countTwice(v *view) { v.totals[0]++ }
