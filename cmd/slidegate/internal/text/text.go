// Package text writes numbers, shares, durations, moments and foreign text the
// way messages and reports show them.
package text

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Thousands writes a number with commas: 1,234,567.
func Thousands[N int | int64](n N) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a count of things: "1 rule", "1,234 rules".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Duration writes a duration as rules files do: 250ms, 90s as 1m30s, 5m, 1h.
func Duration(d time.Duration) string { return ruledoc.ShortDuration(d) }

// Limit writes a limit of a normalized document in one line: 2,000 per 1mo, fixed
// window.
func Limit(l *ruledoc.Limit) string {
	if l.InFlight != 0 {
		return Thousands(l.InFlight) + " in flight, each for " + l.Expires
	}
	line := Thousands(l.Capacity) + " per " + l.Window
	if l.Burst != 0 && l.Burst != l.Capacity {
		line += ", burst " + Thousands(l.Burst)
	}
	if l.Algorithm != ruledoc.DefaultAlgorithm {
		line += ", " + strings.ReplaceAll(l.Algorithm, "_", " ")
	}
	return line
}

// Stamp writes a moment as people read and type it: RFC 3339 in UTC, to the
// second.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Printable returns foreign text fit for one line of a terminal. Text with
// characters that do not print is quoted.
func Printable(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// asTyped keeps the escapes without which a key would be another one.
var asTyped = strings.NewReplacer("%25", "%2525", "%2D", "%252D")

// Key returns a rule's key with the values that people write, such as
// ip:2001:db8::/64 for ip:2001%3Adb8%3A%3A/64.
func Key(key string) string {
	plain, err := url.PathUnescape(asTyped.Replace(key))
	if err != nil {
		return key
	}
	return Printable(plain)
}

// Amount writes a quantity to three digits or to the whole number.
func Amount(n float64) string {
	if n < 100 && n != math.Trunc(n) {
		return strconv.FormatFloat(n, 'g', 3, 64)
	}
	return Thousands(int64(math.Round(n)))
}

// Cut shortens text to n characters, the last of which is then an ellipsis.
func Cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n-1, 0)]) + "…"
	}
	return s
}

// Escape returns text fit for several lines of a terminal. Characters that do not
// print become escapes of JSON, such as \u202e, and bytes that are not UTF-8
// become \xff. Line ends, tabs and the texts to keep stay as they are.
func Escape(s string, keep ...string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		for _, kept := range keep {
			if strings.HasPrefix(s, kept) {
				size, r = len(kept), ' '
			}
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n', r == '\t', unicode.IsPrint(r):
			b.WriteString(s[:size])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		s = s[size:]
	}
	return b.String()
}

// BarWidth is the width of a full bar, in characters.
const BarWidth = 24

// Bar draws a share of the whole, to an eighth of a character.
func Bar(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	eighths := int(float64(part) / float64(whole) * BarWidth * 8)
	eighths = max(1, min(eighths, BarWidth*8))
	full, rest := eighths/8, eighths%8
	b := strings.Repeat("█", full)
	if rest > 0 {
		b += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return b
}

// Spark draws values as a line of bars, to an eighth of the highest. A value above
// 0 has a bar.
func Spark(values []int64, highest int64) string {
	line := make([]rune, len(values))
	for i, n := range values {
		line[i] = ' '
		if n > 0 && highest > 0 {
			line[i] = []rune("▁▂▃▄▅▆▇█")[min(7, int(float64(n)/float64(highest)*8))]
		}
	}
	return string(line)
}

// Percent writes a share of the whole: 33.3%, or nothing if there is no whole.
func Percent[N int64 | float64](part, whole N) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// Per writes how many of something there are for each of all: 0.714.
func Per(n, all int64) string {
	if all == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3f", float64(n)/float64(all))
}

// Brief writes a duration to about three digits: 3d 21h, 5m 4s, 1.24s, 80ms.
func Brief(d time.Duration) string {
	switch day := 24 * time.Hour; {
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// Wait writes a time to wait, rounded up to a tenth of a second.
func Wait(d time.Duration) string {
	const step = 100 * time.Millisecond
	return Duration((d + step - 1).Truncate(step))
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellWords writes words as a shell reads them.
func ShellWords(words ...string) string {
	quoted := slices.Clone(words)
	for i, w := range words {
		if !plainWord.MatchString(w) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
