// Package text writes numbers, durations, moments and foreign text the way
// messages and reports show them.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/ruledoc"
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
