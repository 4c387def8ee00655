package ruledoc

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
)

// A rate is the short form of a limit that states a capacity and a window and
// nothing else, such as 100/minute, 100/60s or 5 per 10s.

// limitForms are the forms of a Limit.
type limitForms struct {
	Rate   string
	Fields statedLimit `partial:"ok"`
}

// statedLimit is the form of a Limit that states its fields.
type statedLimit Limit

var ratePattern = Pattern(limitForms{}, "Rate")

// rateWords are the words that a rate may have for a window. A day is 24
// hours; weeks and months are those of the calendar.
var rateWords = []struct{ word, short, window string }{
	{"second", "s", "1s"}, {"minute", "m", "1m"}, {"hour", "h", "1h"}, {"day", "d", "1d"}, {"week", "", "1w"}, {"month", "", "1mo"},
}

// Forms returns the forms of Limit.
func (l Limit) Forms() any { return limitForms{Fields: statedLimit(l)} }

// UnmarshalJSON reads an object or a rate.
func (l *Limit) UnmarshalJSON(data []byte) error {
	*l = Limit{}
	var rate string
	if err := unmarshalForm(data, '{', (*statedLimit)(l), &rate); err != nil || !isText(data) {
		return err
	}
	return l.parseRate(rate)
}

// parseRate fills in the limit that a rate stands for. The window is checked as
// any other is.
func (l *Limit) parseRate(rate string) error {
	parts := ratePattern().FindStringSubmatch(rate)
	if parts == nil {
		return noRate(rate)
	}
	units, _, _ := strings.Cut(rate, parts[1])
	l.Window = parts[2]
	for _, w := range rateWords {
		if parts[2] == w.word || parts[2] == w.short {
			l.Window = w.window
		}
	}
	var err error
	l.Capacity, err = strconv.ParseInt(units, 10, 64)
	return err
}

// noRate says what to write in place of a text that is no rate.
func noRate(text string) error {
	if window := strings.TrimLeft(text, "0123456789"); window != text && ratePattern().MatchString("1"+window) {
		return fmt.Errorf("%q is no rate: its units are 1 to 999999999; those of a map, such as {capacity: 2000000000, window: 60s}, "+
			"are up to 4294967295", text)
	}
	if rate := meantRate(text); rate != "" {
		return fmt.Errorf("%q is no rate: write %s", text, rate)
	}
	return fmt.Errorf("%q is no rate: write a whole number from 1 and a window, such as 100/minute, 100/60s or 5 per 10s", text)
}

// Rate returns the rate that stands for the limit; "" if none does, because the
// limit states more than its capacity and window.
func (l *Limit) Rate() string {
	window := l.Window
	for _, w := range rateWords {
		if window == w.window {
			window = w.word
		}
	}
	rate := fmt.Sprintf("%d/%s", l.Capacity, window)
	var read Limit
	if read.parseRate(rate) != nil || read != *l {
		return ""
	}
	return rate
}

// LimitName names a limit by its window: per-second, per-10s. It returns "" for
// a window that is none.
func LimitName(window string) string {
	window = canonicalDuration(window)
	for _, w := range rateWords {
		if window == w.window {
			return "per-" + w.word
		}
	}
	if _, ok := ParseDuration(window); !ok {
		return ""
	}
	return "per-" + strings.ReplaceAll(window, ".", "-")
}

// EachLimit yields the limits of the rule with this path, and the path of each.
// A valid rule states either limit or limits.
func (r *Rule) EachLimit(path problem.Path) iter.Seq2[problem.Path, *Limit] {
	if r.Limit != nil {
		return func(yield func(problem.Path, *Limit) bool) { yield(path.To(fieldLimit), r.Limit) }
	}
	return EachLimit(path.To(fieldLimits), r.Limits)
}

// EachLimit yields the limits of a list with this path, and the path of each.
func EachLimit(path problem.Path, list []Limit) iter.Seq2[problem.Path, *Limit] {
	return func(yield func(problem.Path, *Limit) bool) {
		for i := range list {
			if !yield(path.At(i), &list[i]) {
				return
			}
		}
	}
}
