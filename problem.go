package slidegate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// The compiler of rules decides what is wrong with limits, and says so in the
// words of rules files. The functions below say it in the words of this package.

// limitErrors joins what is wrong with the name and the limits of a limiter.
func limitErrors(problems []ruledoc.Problem, limits []ruledoc.Limit) error {
	var errs []error
	var empty [limit.MaxLimits]bool
	for _, p := range problems {
		i, field, ok := limitPath(p.Path)
		switch {
		case strings.HasSuffix(p.Path, "].name") && !ok:
			name, form, _ := strings.Cut(p.Reason, " cannot be a name: ")
			errs = append(errs, fmt.Errorf("WithName(%s): %s", name, form))
		case len(limits) > limit.MaxLimits:
			return fmt.Errorf("%d limits: give 1 to %d", len(limits), limit.MaxLimits)
		case !ok:
			errs = append(errs, errors.New(p.String()))
		case limits[i].Algorithm == "":
			if !empty[i] {
				errs = append(errs, fmt.Errorf("limit %d is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind", i+1))
			}
			empty[i] = true
		default:
			errs = append(errs, fmt.Errorf("%s: %s", Limit{limits[i]}, explain(limits, i, field, p.Reason)))
		}
	}
	return errors.Join(errs...)
}

// limitPath reads a path such as "rules[0].limits[1].window".
func limitPath(path string) (i int, field string, ok bool) {
	_, rest, ok := strings.Cut(path, "limits[")
	index, field, _ := strings.Cut(rest, "].")
	i, err := strconv.Atoi(index)
	return i, field, ok && err == nil
}

// explain says what is wrong with a field of limit i, and what to write instead.
// reason is what the compiler says.
func explain(limits []ruledoc.Limit, i int, field, reason string) string {
	d := &limits[i]
	algorithm, _ := limit.ParseAlgorithm(d.Algorithm)
	window, _ := ruledoc.ParseDuration(d.Window)
	l := limit.Limit{Algorithm: algorithm, Capacity: d.Capacity, Window: window}
	switch field {
	case "name":
		return wrongName(limits, i, reason)
	case "capacity":
		return wrongCapacity(&l)
	case "burst":
		return wrongSize(&l, field, d.Burst, "refill")
	case "queue":
		return wrongSize(&l, field, d.Queue, "drain")
	case "window":
		if window < ruledoc.MinWindow || window > ruledoc.MaxWindow {
			return "the window is out of range: give 100ms to ten years"
		}
		return fmt.Sprintf("the window does not divide into %d to %d even slots: add WithSlots(%s), or give a rounder window",
			ruledoc.MinDefaultSlots, ruledoc.MaxDefaultSlots, rules.NearestGranularity(window, window/ruledoc.MaxDefaultSlots))
	case "granularity":
		return wrongSlots(&l, d.Granularity)
	case "timezone":
		return `unknown time zone: give a name of the IANA database, such as "Europe/Berlin" or "UTC"; import time/tzdata if the system has none`
	}
	switch {
	case !strings.HasPrefix(field, "anchor"):
		return reason
	case d.Window != "1mo":
		return "only PerMonth can be Anchored"
	}
	return "months start on a day from 1 to 28"
}

// wrongName says that a name has another form, or that an earlier limit has it.
func wrongName(limits []ruledoc.Limit, i int, reason string) string {
	name, _, taken := strings.Cut(reason, " is the name of ")
	if !taken {
		return reason
	}
	named := ruledoc.WithDefaults(&ruledoc.Document{Rules: []ruledoc.Rule{{Limits: limits}}}).Rules[0].Limits
	first := slices.IndexFunc(named, func(l ruledoc.Limit) bool { return l.Name == named[i].Name })
	return fmt.Sprintf(`has the name %s as %s has: name one of them, such as Named("burst")`, name, Limit{limits[first]})
}

func wrongCapacity(l *limit.Limit) string {
	switch {
	case l.Capacity < 1:
		return "n must be at least 1"
	case l.Algorithm == limit.SlidingWindowLog:
		return fmt.Sprintf("n must be at most %d: use SlidingWindow for more", limit.MaxLog)
	case l.Bucket() && l.Window > 0: // a unit in a nanosecond is the fastest
		return fmt.Sprintf("n must be at most %d", min(limit.MaxCapacity, int64(l.Window)))
	}
	return fmt.Sprintf("n must be at most %d", int64(limit.MaxCapacity))
}

// wrongSize says what is wrong with the burst or the queue of a bucket.
func wrongSize(l *limit.Limit, field string, size int64, empties string) string {
	switch {
	case size < 1:
		return field + " must be at least 1, or 0 for n"
	case l.Capacity >= 1 && l.Window >= 1 && limit.MaxDrain/l.Interval() < limit.MaxCapacity:
		return fmt.Sprintf("%s must be at most %d: more take over ten years to %s", field, limit.MaxDrain/l.Interval(), empties)
	}
	return fmt.Sprintf("%s must be at most %d", field, int64(limit.MaxCapacity))
}

// wrongSlots says what is wrong with the width of slots.
func wrongSlots(l *limit.Limit, text string) string {
	width, _ := ruledoc.ParseDuration(text)
	switch {
	case l.Algorithm != limit.SlidingWindow:
		return "only SlidingWindow takes WithSlots"
	case width < ruledoc.MinWindow || l.Window < ruledoc.MinWindow:
		return fmt.Sprintf("slots must be at least %s wide", ruledoc.FormatDuration(ruledoc.MinWindow))
	}
	return fmt.Sprintf("slots must divide the window into at most %d: write WithSlots(%s)",
		limit.MaxSlots, rules.NearestGranularity(l.Window, min(width, l.Window)))
}

// constructors name the functions that make limits.
var constructors = [...]string{
	limit.SlidingWindow: "SlidingWindow", limit.FixedWindow: "FixedWindow", limit.SlidingWindowCounter: "SlidingWindowCounter",
	limit.SlidingWindowLog: "SlidingLog", limit.TokenBucket: "TokenBucket", limit.LeakyBucket: "LeakyBucket",
}

// String returns the call that makes the limit, such as
// "SlidingWindow(100, 1m)".
func (l Limit) String() string {
	algorithm, ok := limit.ParseAlgorithm(l.doc.Algorithm)
	if !ok {
		return "Limit{}"
	}
	call := fmt.Sprintf("%s(%d, %s)", constructors[algorithm], l.doc.Capacity, l.doc.Window)
	switch {
	case algorithm == limit.TokenBucket || algorithm == limit.LeakyBucket:
		call = fmt.Sprintf("%s(%d, %s, %d)", constructors[algorithm], l.doc.Capacity, l.doc.Window, cmp.Or(l.doc.Burst, l.doc.Queue))
	case l.doc.Timezone != "":
		per := map[string]string{"1d": "PerDay", "1w": "PerWeek", "1mo": "PerMonth"}
		call = fmt.Sprintf("%s(%d, %q)", per[l.doc.Window], l.doc.Capacity, l.doc.Timezone)
	}
	if l.doc.Granularity != "" {
		call += fmt.Sprintf(".WithSlots(%s)", l.doc.Granularity)
	}
	if l.doc.Anchor != nil {
		call += fmt.Sprintf(".Anchored(%d)", l.doc.Anchor.Day)
	}
	if l.doc.Name != "" {
		call += fmt.Sprintf(".Named(%q)", l.doc.Name)
	}
	return call
}
