package term

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Printer prints lines and aligned tables. It keeps the first error in Err and
// prints nothing after it.
type Printer struct {
	Colours
	Err error
	w   io.Writer
}

// NewPrinter returns a printer with the colours that suit w.
func NewPrinter(w io.Writer) *Printer { return &Printer{Colours: ColoursFor(w), w: w} }

// Line prints one line.
func (p *Printer) Line(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.w, format+"\n", args...)
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
