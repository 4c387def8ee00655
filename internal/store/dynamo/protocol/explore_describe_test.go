package protocol

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/slidegate/slidegate/internal/limit"
)

// legible counts the times and the slots of a text in ticks from dawn.
func legible(text string) string {
	return longWords.ReplaceAllStringFunc(text, func(word string) string {
		n, err := strconv.ParseInt(word, 10, 64)
		slot, named := slotOf(word)
		switch {
		case err != nil && named:
			if s := describeSlot(slot); s[0] == 's' {
				return word[:1] + s
			}
			return word
		case err != nil:
			return word
		case n >= dawn.UnixNano()/2:
			return fmt.Sprint(float64(n-dawn.UnixNano()) / float64(tick))
		case n >= dawn.Unix()/2 && n < 2*dawn.Unix():
			return fmt.Sprint(float64(n-dawn.Unix()) / tick.Seconds())
		}
		return describeSlot(n)
	})
}

var longWords = regexp.MustCompile(`\b[0-9a-z]{5,}\b`)

// describeSlot numbers slots of any width from the one that begins at dawn or
// just after.
func describeSlot(slot int64) string {
	for _, width := range []int64{1, 2, 3, 4, 5, 6} {
		if first := dawn.UnixNano() / int64(tick) / width; slot >= first && slot < first+100 {
			return fmt.Sprintf("s%d", slot-first)
		}
	}
	return fmt.Sprint(slot)
}

func describeSnapshot(s *Snapshot) string {
	if s == nil {
		return "no snapshot"
	}
	return "the snapshot " + legible(s.text())
}

func (o *oracle) describeItem(i uint32) string {
	return "{" + legible(textOf(o.items.all[i].attributes)) + "}"
}

// describeWrite describes a caller's decision about a request.
func (o *oracle) describeWrite(w uint32) string {
	switch w {
	case denied:
		return "denies"
	case failed:
		return "fails: the item is far ahead"
	}
	x := o.writes.all[w].update("created")
	text := [...]string{"charges ", "charges in a transaction ", "settles ", "prunes ", "renews "}[o.writes.all[w].kind] + textOf(x.values)
	for _, removed := range x.removals {
		text += "without " + x.names[removed] + " "
	}
	return legible(text)
}

// slotOf reads the name of a slot counter.
func slotOf(name string) (slot int64, ok bool) {
	slot, err := strconv.ParseInt(name[1:], 36, 64)
	return slot, err == nil && slotName(name[:1], slot) == name
}

// normalize clears everything that no later move depends on, so that states
// with the same future are equal.
func (s *callers) normalize(x *callersState) {
	for i := range s.callers {
		s.forget(x, &x.callers[i])
	}
	if s.fades() {
		s.fadeAll(x)
	}
	s.arrange(x)
}

// fadeAll clears the units before every window that a later move can use.
func (s *callers) fadeAll(x *callersState) {
	clocks, all := int8(127), int8(127) // the oldest ticks that matter to callers, and to writes not yet applied
	for i := range s.callers {
		c := &x.callers[i]
		clock := c.clock + min(0, s.jump)
		clocks, all = min(clocks, clock), min(all, clock)
		if c.phase == waiting {
			all = min(all, s.writes.all[c.write].marks[0].at)
		}
		if c.owing != nothing && s.downs > 0 {
			clock = min(clock, ticksOf(&s.limits[0][0], s.receipts.all[c.receipt].Slots[0]))
			all = min(all, clock)
		}
		c.snapshot = s.fadeSnapshot(c.snapshot, clock-s.slots())
	}
	if s.downs > 0 {
		clocks = all
	}
	x.item = s.fade(x.item, clocks-s.slots())
	for at := int8(0); at < all-s.slots(); at++ {
		x.log.units[0][at] = 0
	}
}

// forget clears the fields that a caller will not use.
func (s *callers) forget(x *callersState, c *caller) {
	if s.anytime {
		c.sent, c.settled = 0, 0
	}
	if c.owing == receipt && x.downs == s.downs && x.ups == s.ups {
		c.settleUp()
	}
	if s.skew > 0 || s.jumps > 0 { // I2 is not checked then
		x.gen, c.since = 0, 0
	}
	if c.snapshot == 0 || s.skew > 0 || s.jumps > 0 {
		c.gen = 0
	}
}

// arrange sorts the callers.
func (s *callers) arrange(x *callersState) {
	for i := 1; i < s.callers; i++ {
		for j := i; j > 0 && x.callers[j].order(&x.callers[j-1]) < 0; j-- {
			x.callers[j], x.callers[j-1] = x.callers[j-1], x.callers[j]
			x.names[j], x.names[j-1] = x.names[j-1], x.names[j]
		}
	}
}

// faded is an item or a snapshot, and the tick before which the units of its
// slots do not matter.
type faded struct {
	number uint32
	before int8
}

// fade clears the units of an item's slots that no window reaches any more.
func (o *oracle) fade(i uint32, before int8) uint32 {
	if i == 0 || before <= 0 || o.items.all[i].broken != "" {
		return i
	}
	return memo(o.fadedItems, faded{i, before}, func(faded) uint32 {
		attributes := maps.Clone(o.items.all[i].attributes)
		for name := range attributes {
			if slot, ok := slotOf(name); ok && ticksOf(&o.limits[0][0], slot) < before {
				attributes[name] = number(0)
			}
		}
		return o.item(attributes)
	})
}

// fadeSnapshot does the same to a snapshot.
func (o *oracle) fadeSnapshot(i uint32, before int8) uint32 {
	if i == 0 || before <= 0 {
		return i
	}
	return memo(o.fadedSnapshots, faded{i, before}, func(faded) uint32 {
		snapshot := *o.snapshots.all[i]
		slots := slices.Collect(snapshot.states[0].All())
		for n := range slots {
			if ticksOf(&o.limits[0][0], slots[n].Number) < before {
				slots[n].Units = 0
			}
		}
		snapshot.states = []limit.State{{Slots: limit.NewSlots(slots)}}
		return o.snapshot(&snapshot)
	})
}

// fades reports whether fade applies: there is one limit, and its slots count
// in full.
func (o *oracle) fades() bool {
	return len(o.limits[0]) == 1 && o.limits[0][0].Algorithm <= limit.FixedWindow
}
