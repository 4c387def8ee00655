package dynamo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// What a search meets, in words. Moments and slots are counted in ticks from dawn.

func tellView(v *view) string {
	if v == nil {
		return "no view"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "view of %q", v.life)
	for i := range v.states {
		s := &v.states[i]
		if full, ok := s.Full(); ok {
			fmt.Fprintf(&text, " %s: full at %v", letter(i), tellTime(full))
		}
		if _, ok := s.Newest(); ok {
			fmt.Fprintf(&text, " %s: C=%d%s", letter(i), v.totals[i], tellSlots(s.All()))
		}
	}
	return text.String()
}

// tellSlots counts slots of any width from the one that begins at dawn or next to it.
func tellSlots(slots []limit.Slot) string {
	var text strings.Builder
	for _, s := range slots {
		fmt.Fprintf(&text, " %s=%d", tellSlot(s.Number), s.Units)
	}
	return text.String()
}

func tellSlot(slot int64) string {
	if slot > int64(time.Hour) { // a stamp
		return fmt.Sprint(tellTime(slot))
	}
	for _, width := range []int64{1, 2, 3, 4, 5, 6} {
		if first := dawn.UnixNano() / int64(tick) / width; slot >= first && slot < first+100 {
			return fmt.Sprintf("s%d", slot-first)
		}
	}
	return fmt.Sprint(slot)
}

func tellTime(unixNano int64) float64 {
	return float64(unixNano-dawn.UnixNano()) / float64(tick)
}

func (o *oracle) tellItem(i uint32) string {
	if i == 0 {
		return "none"
	}
	var text []string
	for part := range strings.FieldsSeq(strings.ReplaceAll(textOf(o.items.all[i].attributes), "life ", "life-")) {
		name, value, _ := strings.Cut(part, "=")
		if name != attrKey {
			text = append(text, o.tellAttribute(name, value))
		}
	}
	slices.Sort(text)
	return "{" + strings.Join(text, " ") + "}"
}

func (o *oracle) tellAttribute(name, value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	slot, counter := slotOf(name)
	switch {
	case err != nil:
	case name == attrTTL:
		value = fmt.Sprint(tellTime(n * int64(time.Second)))
	case name[1:] == attrFull:
		value = fmt.Sprint(tellTime(n))
	case name[1:] == attrNewest:
		value = tellSlot(n)
	case counter:
		name = name[:1] + tellSlot(slot)
	}
	return name + "=" + value
}

// tellWrite describes what a caller does about a request.
func (o *oracle) tellWrite(w uint32) string {
	switch w {
	case denied:
		return "denies"
	case failed:
		return "fails: the item is far ahead"
	}
	x := o.writes.all[w].spell("begun")
	var text []string
	for _, name := range sortedNames(x.values) {
		if n, err := readNumber(name, x.values[name]); err == nil && name != ":zero" {
			text = append(text, o.tellValue(name, n))
		}
	}
	for _, removed := range x.removals {
		slot, _ := slotOf(x.names[removed])
		text = append(text, "without "+tellSlot(slot))
	}
	return [...]string{"charges ", "charges in a transaction ", "settles ", "tidies "}[o.writes.all[w].kind] + strings.Join(text, " ")
}

func (o *oracle) tellValue(name string, n int64) string {
	switch {
	case name == ":ttl":
		return fmt.Sprintf("%s=%v", name, tellTime(n*int64(time.Second)))
	case strings.HasSuffix(name, "q"):
		return name + "=" + tellSlot(n)
	case strings.HasSuffix(name, "i"): // how much longer a bucket takes to fill
		return fmt.Sprintf("%s=%v", name, float64(n)/float64(tick))
	case n > int64(time.Hour):
		return fmt.Sprintf("%s=%v", name, tellTime(n))
	}
	return fmt.Sprintf("%s=%d", name, n)
}

func (o *oracle) tellOutcome(before, after uint32) string {
	if before == after {
		return "refused; item: " + o.tellItem(after)
	}
	return "item: " + o.tellItem(after)
}

func (s *callers) tellClocks(x *callersState) string {
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
