package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// Frame is what all drawings have.
type Frame struct {
	// ID is unique in the page, of letters, digits and hyphens: the drawing's
	// parts refer to each other by it.
	ID string
	// Title names the drawing for a screen reader, and as its heading in a file.
	// In a page, the figure has the heading.
	Title string
	// Desc says in words what the drawing shows.
	Desc string
	// Width is in pixels, at least 240.
	Width int
}

// Wide and Narrow are the widths of drawings for a page and for a phone of 390
// pixels.
const (
	Wide   = 760
	Narrow = 350
)

// canvas collects the elements of a drawing.
type canvas struct {
	strings.Builder
	*Frame
	theme Theme
	id    string
	w, h  float64
}

// begin opens a drawing of f.
func begin(f *Frame, theme Theme, w, h float64) *canvas {
	return &canvas{Frame: f, theme: theme, id: safeID(f.ID), w: w, h: h}
}

// hatch defines the pattern of Shadow, for a drawing that has such a shape.
func (c *canvas) hatch() {
	fmt.Fprintf(c, `<defs><pattern id="%s-h" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
		`<rect class="c-tint" width="5" height="5"/><line class="c-hatch" x1="0" y1="0" x2="0" y2="5"/></pattern></defs>`+"\n", c.id)
}

// end returns the drawing.
func (c *canvas) end() string {
	style := ""
	if c.theme != Inline {
		style = fmt.Sprintf("<style>\n%s</style>\n<rect class=\"c-back\" width=\"%s\" height=\"%s\"/>\n", c.theme.own(), num(c.w), num(c.h))
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img" aria-labelledby="%[3]s-t %[3]s-d">
<title id="%[3]s-t">%[4]s</title><desc id="%[3]s-d">%[5]s</desc>
%[6]s%[7]s</svg>
`, num(c.w), num(c.h), c.id, escape(c.Title), escape(c.Desc), style, c.String())
}

// fill returns the attributes of a shape of a kind.
func (c *canvas) fill(k Kind) string {
	if k == Shadow {
		return fmt.Sprintf(`class="c-shadow" fill="url(#%s-h)"`, c.id)
	}
	return `class="c-` + safeID(string(k)) + `"`
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(c, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class, num(x), num(y), num(w), num(h))
}

func (c *canvas) shape(k Kind, x, y, w, h float64) {
	fmt.Fprintf(c, "<rect %s x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", c.fill(k), num(x), num(y), num(w), num(h))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", class, num(x1), num(y1), num(x2), num(y2))
}

func (c *canvas) path(attributes, d string) {
	if d != "" {
		fmt.Fprintf(c, "<path %s d=\"%s\"/>\n", attributes, d)
	}
}

// text writes s at a baseline; anchor is start, middle or end. It is moved to
// where it fits into the drawing, and cut if it is wider than that.
func (c *canvas) text(class, anchor string, x, y float64, s string) {
	size := 1.0
	if strings.Contains(class, "c-title") {
		size = 1.3
	}
	s = text.Cut(s, int((c.w-8)/(advance*size)))
	left := map[string]float64{"start": 0, "middle": 0.5, "end": 1}[anchor] * width(s) * size
	x = max(left+2, min(x, c.w-2-(width(s)*size-left)))
	fmt.Fprintf(c, "<text class=\"%s\" x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>\n", class, num(x), num(y), anchor, escape(s))
}

// advance is the width in pixels that a character of text takes at most on
// average. Fonts differ.
const advance = 6.6

func width(s string) float64 { return advance * float64(len([]rune(s))) }

// escape makes s the text of an element. Control characters, which XML does
// not allow or which reverse the direction of text, become spaces.
func escape(s string) string {
	printable := func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}
	return html.EscapeString(strings.Map(printable, s))
}

// safeID leaves of s what an attribute may hold without escaping.
func safeID(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s)
}

// num writes a coordinate, to a tenth of a pixel.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

// steps returns the path of a line that has height y[i] from x[i] to x[i+1]; x
// has one element more than y.
func steps(x, y []float64) string {
	var b strings.Builder
	last := ""
	for i := range y {
		if now := num(y[i]); i == 0 {
			b.WriteString("M" + num(x[0]) + "," + now)
			last = now
		} else if now != last {
			b.WriteString("H" + num(x[i]) + "V" + now)
			last = now
		}
	}
	if len(y) > 0 {
		b.WriteString("H" + num(x[len(y)]))
	}
	return b.String()
}

// between returns the path of the area between two such lines, "" if it is
// empty.
func between(x, upper, lower []float64) string {
	empty := true
	for i := range upper {
		empty = empty && num(upper[i]) == num(lower[i])
	}
	if empty {
		return ""
	}
	var b strings.Builder
	b.WriteString(steps(x, upper))
	last := ""
	for i := len(lower) - 1; i >= 0; i-- {
		if now := num(lower[i]); now != last {
			if i < len(lower)-1 {
				b.WriteString("H" + num(x[i+1]))
			}
			b.WriteString("V" + now)
			last = now
		}
	}
	b.WriteString("H" + num(x[0]) + "Z")
	return b.String()
}
