package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// isTerminal reports whether a person looks at what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colours paints text, or leaves it as it is.
type colours bool

// colours are for terminals, unless NO_COLOR says otherwise (no-color.org).
func (c *cli) colours(w io.Writer) colours {
	return colours(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (on colours) green(s string) string { return on.paint("32", s) }
func (on colours) red(s string) string   { return on.paint("31", s) }

func (on colours) paint(code, s string) string {
	if !bool(on) || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

const barWidth = 24

// bar draws a share of the whole, to an eighth of a character.
func bar(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return ""
	}
	eighths := int(float64(part) / float64(whole) * barWidth * 8)
	eighths = max(1, min(eighths, barWidth*8))
	full, rest := eighths/8, eighths%8
	b := strings.Repeat("█", full)
	if rest > 0 {
		b += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return b
}

func percent(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// thousands spells a number with commas: 1,234,567.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// parseSpan reads how long something is to last: as Go writes it, or whole days such as 7d.
func parseSpan(text string) (time.Duration, error) {
	const longest = 10 * 365 * 24 * time.Hour
	days, isDays := strings.CutSuffix(text, "d")
	d, err := time.ParseDuration(text)
	if isDays {
		var n int64
		n, err = strconv.ParseInt(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err == nil && (d <= 0 || d > longest) {
		err = errors.New("out of range")
	}
	return d, err
}

// plainText makes text that somebody has typed fit for one line of a terminal.
func plainText(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// printer prints aligned tables, and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// section prints a table under its header line, after an empty line; nothing if it has no rows.
func (p *printer) section(layout string, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.table(layout, append([][]string{header}, rows...))
}

// table aligns columns as the layout says, l or r for each. The last column is never padded, so it may hold colours.
func (p *printer) table(layout string, rows [][]string) {
	widths := make([]int, len(layout)-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, width := range widths {
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(row[i]))
			if layout[i] == 'r' {
				b.WriteString(pad + row[i] + "  ")
			} else {
				b.WriteString(row[i] + pad + "  ")
			}
		}
		p.line("%s", strings.TrimRight(b.String()+row[len(widths)], " "))
	}
}
