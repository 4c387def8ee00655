package protocol

import (
	"maps"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
)

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
