package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// These functions describe states and writes. They count times and slots in
// ticks from dawn.

func describeSnapshot(snapshot *Snapshot) string {
	if snapshot == nil {
		return "no snapshot"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "snapshot of %q", snapshot.Generation)
	for i := range snapshot.states {
		s := &snapshot.states[i]
		if full, ok := s.Full(); ok {
			fmt.Fprintf(&text, " %s: full at %v", prefixOf(i), describeTime(full))
		}
		if _, ok := s.Newest(); ok {
			fmt.Fprintf(&text, " %s: C=%d%s", prefixOf(i), snapshot.totals[i], describeSlots(slices.Collect(s.All())))
		}
	}
	return text.String()
}

// describeSlots numbers slots of any width from the one that begins at dawn or
// just after.
func describeSlots(slots []limit.Slot) string {
	var text strings.Builder
	for _, s := range slots {
		fmt.Fprintf(&text, " %s=%d", describeSlot(s.Number), s.Units)
	}
	return text.String()
}

func describeSlot(slot int64) string {
	if slot > int64(time.Hour) { // a stamp
		return fmt.Sprint(describeTime(slot))
	}
	for _, width := range []int64{1, 2, 3, 4, 5, 6} {
		if first := dawn.UnixNano() / int64(tick) / width; slot >= first && slot < first+100 {
			return fmt.Sprintf("s%d", slot-first)
		}
	}
	return fmt.Sprint(slot)
}

func describeTime(unixNano int64) float64 {
	return float64(unixNano-dawn.UnixNano()) / float64(tick)
}

func (o *oracle) describeItem(i uint32) string {
	if i == 0 {
		return "none"
	}
	var text []string
	for part := range strings.FieldsSeq(strings.ReplaceAll(textOf(o.items.all[i].attributes), "generation ", "generation-")) {
		name, value, _ := strings.Cut(part, "=")
		if name != AttributeKey {
			text = append(text, o.describeAttribute(name, value))
		}
	}
	slices.Sort(text)
	return "{" + strings.Join(text, " ") + "}"
}

func (o *oracle) describeAttribute(name, value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	slot, counter := slotOf(name)
	switch {
	case err != nil:
	case name == AttributeTTL:
		value = fmt.Sprint(describeTime(n * int64(time.Second)))
	case name[1:] == attributeFull:
		value = fmt.Sprint(describeTime(n))
	case name[1:] == attributeNewest:
		value = describeSlot(n)
	case counter:
		name = name[:1] + describeSlot(slot)
	}
	return name + "=" + value
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
	var text []string
	for _, name := range sortedNames(x.values) {
		if n, err := readNumber(name, x.values[name]); err == nil && name != ":zero" {
			text = append(text, o.describeValue(name, n))
		}
	}
	for _, removed := range x.removals {
		slot, _ := slotOf(x.names[removed])
		text = append(text, "without "+describeSlot(slot))
	}
	return [...]string{"charges ", "charges in a transaction ", "settles ", "prunes "}[o.writes.all[w].kind] + strings.Join(text, " ")
}

func (o *oracle) describeValue(name string, n int64) string {
	switch {
	case name == ":ttl":
		return fmt.Sprintf("%s=%v", name, describeTime(n*int64(time.Second)))
	case strings.HasSuffix(name, "q"):
		return name + "=" + describeSlot(n)
	case strings.HasSuffix(name, "i"): // nanoseconds added to the time until a bucket is full
		return fmt.Sprintf("%s=%v", name, float64(n)/float64(tick))
	case n > int64(time.Hour):
		return fmt.Sprintf("%s=%v", name, describeTime(n))
	}
	return fmt.Sprintf("%s=%d", name, n)
}

func (o *oracle) describeOutcome(before, after uint32) string {
	if before == after {
		return "refused; item: " + o.describeItem(after)
	}
	return "item: " + o.describeItem(after)
}

func (s *callers) describeClocks(x *callersState) string {
	var text []string
	for i := range s.callers {
		text = append(text, fmt.Sprintf("%c %d", x.names[i], x.callers[i].clock))
	}
	slices.Sort(text)
	if s.ttl {
		text = append(text, fmt.Sprintf("DynamoDB %d", x.reaper))
	}
	return strings.Join(text, ", ")
}

func sortedNames(values item) []string { return slices.Sorted(maps.Keys(values)) }

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
