package plain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// entryLimit is the limit of an entry.
type entryLimit struct {
	capacity            int64
	window, granularity time.Duration
	stated              map[string]bool // by the names of fields
}

// set sets the field with this name, or returns what is wrong with it.
func (l *entryLimit) set(name string, value json.Token) (problem string) {
	twice := l.stated[name]
	l.stated[name] = true
	number, isNumber := value.(json.Number)
	switch {
	case twice:
		return "is there twice: remove one of them"
	case name != "time_window_sec" && name != "capacity" && name != "granularity_sec":
		return "unknown field: there are time_window_sec, capacity and granularity_sec"
	case !isNumber:
		return "must be a number"
	case name == "capacity":
		l.capacity, problem = parseCapacity(number)
	case name == "time_window_sec":
		l.window, problem = parseSeconds(number)
	default:
		l.granularity, problem = parseSeconds(number)
	}
	return problem
}

func parseCapacity(n json.Number) (units int64, problem string) {
	units, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || units < 1 || units > limit.MaxCapacity {
		return 0, fmt.Sprintf("%s is not a capacity: write a whole number from 1 to %d", imports.Short(n.String()), limit.MaxCapacity)
	}
	return units, ""
}

func parseSeconds(n json.Number) (d time.Duration, problem string) {
	d, err := time.ParseDuration(n.String() + "s")
	if err != nil || d < ruledoc.MinWindow || d > ruledoc.MaxWindow || d%time.Millisecond != 0 {
		return 0, fmt.Sprintf("%s is not a number of seconds from %g to %d: write plain digits, with at most three decimals",
			imports.Short(n.String()), ruledoc.MinWindow.Seconds(), ruledoc.MaxWindow/time.Second)
	}
	return d, ""
}

// check returns what is wrong with the limit as a whole.
func (l *entryLimit) check() (problem string) {
	for _, name := range []string{"time_window_sec", "capacity", "granularity_sec"} {
		if !l.stated[name] {
			return name + " is missing"
		}
	}
	if l.granularity == 0 {
		return "" // the field has an error of its own
	}
	switch slots := l.window / l.granularity; {
	case l.window%l.granularity != 0:
		return "time_window_sec is not a whole multiple of granularity_sec"
	case slots > limit.MaxSlots:
		return fmt.Sprintf("time_window_sec is %d times granularity_sec, and %d is the most", slots, limit.MaxSlots)
	}
	return ""
}

// override returns the override that turns a rule's limit into this one.
func (l *entryLimit) override(own *limit.Limit) ruledoc.Override {
	if own.Algorithm == limit.SlidingWindow && own.Window == l.window && own.Granularity == l.granularity {
		return ruledoc.Override{Capacity: ruledoc.Capacities{"": l.capacity}}
	}
	return ruledoc.Override{Limits: []ruledoc.Limit{{
		Name:     own.Name, // counters carry it
		Capacity: l.capacity, Window: ruledoc.FormatDuration(l.window), Granularity: ruledoc.FormatDuration(l.granularity),
	}}}
}
