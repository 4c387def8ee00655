package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// IsTerminal reports whether what is written appears on a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colours paints text, or leaves it as it is.
type Colours bool

// ColoursFor returns colours for a terminal, unless NO_COLOR is set
// (no-color.org).
func ColoursFor(w io.Writer) Colours {
	return Colours(IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
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
type Escaper struct{ io.Writer }

// Write writes the escaped text.
func (e Escaper) Write(b []byte) (int, error) {
	_, err := io.WriteString(e.Writer, text.Escape(string(b)))
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
func NewPrinter(w io.Writer) *Printer { return &Printer{Colours: ColoursFor(w), w: w} }

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
