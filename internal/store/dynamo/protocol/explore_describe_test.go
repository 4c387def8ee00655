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
