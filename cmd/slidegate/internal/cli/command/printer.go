package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
)

// isTerminal reports whether what is written appears on a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colours paints text, or leaves it as it is.
type Colours bool

// coloursFor returns colours for a terminal, unless NO_COLOR is set
// (no-color.org).
func coloursFor(w io.Writer) Colours {
	return Colours(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Green paints text green.
func (on Colours) Green(s string) string { return on.paint(green, s) }

// Red paints text red.
func (on Colours) Red(s string) string { return on.paint(red, s) }

func (on Colours) paint(code, s string) string {
	if !bool(on) || s == "" {
		return s
	}
	return code + s + plain
}

// The control sequences that this package prints on lines.
const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"

// Escaper escapes what is written by text.Escape. Each Write has whole
// characters.
type Escaper struct {
	io.Writer
	Without string // what it leaves out; empty for nothing
}

// Write writes the escaped text.
func (e Escaper) Write(b []byte) (int, error) {
	_, err := io.WriteString(e.Writer, strings.ReplaceAll(text.Escape(string(b)), e.Without, ""))
	return len(b), err
}

// Printer prints lines and aligned tables. It keeps the first error in Err and
// prints nothing after it.
type Printer struct {
	Colours
	Err error
	w   io.Writer
}

// NewPrinter returns a printer with the colours that suit w.
func NewPrinter(w io.Writer) *Printer { return &Printer{Colours: coloursFor(w), w: w} }

// Line prints one line. It escapes what does not print, its colours aside.
func (p *Printer) Line(format string, args ...any) {
	var keep []string
	if p.Colours {
		keep = []string{red, green, plain}
	}
	if p.Err == nil {
		_, p.Err = io.WriteString(p.w, text.Escape(fmt.Sprintf(format+"\n", args...), keep...))
	}
}

// Section prints a table under its header, after an empty line. It prints
// nothing if there are no rows.
func (p *Printer) Section(layout string, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.Line("")
	p.Table(layout, append([][]string{header}, rows...))
}

// Table aligns columns by the layout, l or r for each. The last column is never
// padded, so it may hold colours.
func (p *Printer) Table(layout string, rows [][]string) {
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
		p.Line("%s", strings.TrimRight(b.String()+row[len(widths)], " "))
	}
}

// Labelled are rows of a label and a text each.
type Labelled [][]string

// Add adds a row for each text that is not empty.
func (l *Labelled) Add(label string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			*l = append(*l, []string{label, text})
		}
	}
}

// progressEvery is how often the line on the terminal changes, at most.
const progressEvery = 100 * time.Millisecond

// Progress shows on one line of a terminal how much is done. It shows nothing
// where there is no terminal.
type Progress struct {
	w    io.Writer // nil without a terminal
	now  func() time.Time
	next time.Time
	dirt bool // something is on the line
}

// newProgress returns progress by this clock on w, if w is a terminal.
func newProgress(w io.Writer, now func() time.Time) *Progress {
	p := &Progress{now: now}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

// Log shows how many requests of a log are done and at what moment of the log,
// and what share of them, or of the log's bytes if their number is not known.
func (p *Progress) Log(at logs.Progress) {
	p.paint(func() string {
		share, pass := "", ""
		if at.Pass != "" {
			pass = "  " + at.Pass
		}
		if at.Size > 0 {
			share = fmt.Sprintf("%3d%%  ", 100*at.Read/at.Size)
		}
		return fmt.Sprintf("%s%s  %s", share, text.Plural(at.Requests, "request"), at.At.UTC().Format("2006-01-02 15:04:05")) + pass
	})
}

// Count shows how many things are done. A total of 0 is not known.
func (p *Progress) Count(done, total int, things string) {
	p.paint(func() string {
		if total == 0 {
			return text.Thousands(done) + " " + things
		}
		return fmt.Sprintf("%3d%%  %s %s", 100*done/total, text.Thousands(done), things)
	})
}

// paint changes the line, unless it has just been changed.
func (p *Progress) paint(line func() string) {
	if p.w == nil {
		return
	}
	if now := p.now(); !now.Before(p.next) {
		p.next, p.dirt = now.Add(progressEvery), true
		fmt.Fprint(p.w, "\r\x1b[K"+line())
	}
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p.dirt {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirt = false
	}
}
