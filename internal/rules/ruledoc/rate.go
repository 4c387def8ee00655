package ruledoc

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

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

// mostUnits is the largest capacity, which the tags of fields state too.
const mostUnits int64 = 999_999_999_999_999

var ratePattern = Pattern(limitForms{}, "Rate")

type rateWord struct{ word, short, window string }

// rateWords are the words that a rate may have for a window. A day is 24
// hours; weeks and months are those of the calendar.
var rateWords = []rateWord{
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
	read, ok := readRate(rate)
	if *l = read; !ok {
		return noRate(rate)
	}
	return nil
}

// readRate returns the limit that a rate stands for. The window is checked as any
// other is.
func readRate(rate string) (l Limit, ok bool) {
	parts := ratePattern().FindStringSubmatch(rate)
	if parts == nil {
		return Limit{}, false
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
	return l, err == nil
}

// noRate says what to write in place of a text that is no rate.
func noRate(text string) error {
	if rate := meantRate(text); rate != "" {
		return fmt.Errorf("%q is no rate: write %s", text, rate)
	}
	if window := strings.TrimLeft(text, "0123456789"); window != text && ratePattern().MatchString("1"+window) {
		return fmt.Errorf("%q is no rate: its units are 1 to %d", text, mostUnits)
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
	if read, ok := readRate(rate); !ok || read != *l {
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

const (
	// MinWindow is the shortest window and the finest granularity: below it a
	// round trip to the store takes longer than a slot.
	MinWindow = 100 * time.Millisecond
	// MaxWindow is far beyond any use, and far enough below the 292 years of a
	// time.Duration for sums to be safe.
	MaxWindow = 3650 * day

	// MinDefaultSlots is the fewest slots that a default granularity may give.
	// Fewer slots give up so much capacity that a rule must set granularity.
	MinDefaultSlots = 10
	// MaxDefaultSlots is the most slots that a default granularity gives.
	MaxDefaultSlots = 60

	day = 24 * time.Hour
)

// ParseDuration reads a length of time as Go writes it, such as "1m30s", with
// whole days in front if wanted: "1d", "1d12h". A day is 24 hours here.
// Anything above MaxWindow yields some length above MaxWindow.
func ParseDuration(text string) (length time.Duration, ok bool) {
	if strings.ContainsAny(text, "+-") {
		return 0, false
	}
	rest := text
	if days, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil {
			return 0, false
		}
		length = time.Duration(min(n, uint64(MaxWindow/day)+1)) * day
		if rest = after; rest == "" {
			return length, true
		}
	}
	d, err := time.ParseDuration(rest)
	return length + min(d, MaxWindow+1), err == nil
}

// FormatDuration writes a length of time as ParseDuration reads it: 2d for
// whole days, else as Duration.String does but without zeros at the end.
func FormatDuration(d time.Duration) string {
	if d != 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return ShortDuration(d)
}

// ShortDuration writes a duration as Duration.String does, but without zeros at
// the end: 250ms, 1m30s, 5m, 48h.
func ShortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// DefaultGranularity cuts a window into as many slots as it can, from
// MinDefaultSlots to MaxDefaultSlots: of whole seconds if the window is a
// minute or longer, else of whole tenths of a second. It returns 0 if the
// window does not divide so.
func DefaultGranularity(window time.Duration) time.Duration {
	unit := MinWindow
	if window >= time.Minute {
		unit = time.Second
	}
	for k := time.Duration(MaxDefaultSlots); k >= MinDefaultSlots; k-- {
		if window%(k*unit) == 0 {
			return window / k
		}
	}
	return 0
}
