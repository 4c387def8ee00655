package chart

import (
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// Steps are panels on the same two axes, each with a line of steps: for example
// what algorithms admit of one burst. The part above the limit is shaded, and
// the peak is written at the line.
type Steps struct {
	Frame
	Panels  []Panel
	Columns int     // panels in a row
	XMin    float64 // where the axis begins, for example in seconds
	XMax    float64 // where it ends
	XStep   float64 // between the axis's marks
	XLabel  string
	YLabel  string
	Limit   float64 // a dashed line
	Legend  []Item
}

// Panel is one line of steps. Its value is Y[i] from X[i], 0 before.
type Panel struct {
	Title    string
	Subtitle string    // in muted text below
	X, Y     []float64 // as many of both, at least one
	Peak     string    // written at the highest value
	Bars     []Span    // behind the line, the first at the back
}

// Span is a bar from one x to another.
type Span struct {
	Kind     Kind
	From, To float64
	Value    float64
}

// panelHeight is a panel's height in pixels, with its titles and marks.
const panelHeight = 230

// SVG draws the panels. Each row has the same height.
func (s *Steps) SVG(theme Theme) string {
	c := begin(&s.Frame, theme, float64(s.Width), 0)
	c.hatch()
	head := plot{canvas: c}
	head.heading(s.Legend)
	rows := (len(s.Panels) + s.Columns - 1) / s.Columns
	c.h = head.top + 14 + float64(rows*panelHeight)
	each := c.w / float64(s.Columns)
	for i := range s.Panels {
		s.panel(c, &s.Panels[i], each*float64(i%s.Columns), head.top+6+float64(i/s.Columns*panelHeight), each)
	}
	return c.end()
}

// most is the highest value of all panels, with room for its text.
func (s *Steps) most() float64 {
	most := s.Limit
	for _, p := range s.Panels {
		most = max(most, slices.Max(p.Y))
		for _, b := range p.Bars {
			most = max(most, b.Value)
		}
	}
	return most * 1.06
}

func (s *Steps) panel(c *canvas, panel *Panel, x, y, w float64) {
	p := plot{canvas: c, top: y + 42, left: x, right: x + w - 16, bottom: y + panelHeight - 40}
	p.text("c-strong", "start", x+8, y+16, text.Cut(panel.Title, int(w/advance/1.1)))
	p.text("c-muted", "start", x+8, y+32, text.Cut(panel.Subtitle, int(w/advance)))
	p.axes(s)
	across := func(v float64) float64 {
		return p.left + (p.right-p.left)*min(max(v-s.XMin, 0)/(s.XMax-s.XMin), 1)
	}
	p.bars(panel.Bars, across)
	p.steps(s.Limit, panel, across)
	p.line("c-axis", p.left, p.bottom, p.right, p.bottom)
	p.line("c-limit", p.left, p.y(s.Limit), p.right, p.y(s.Limit))
	p.peak(panel, across)
}

// axes draws the axes, at equal places in all panels.
func (p *plot) axes(s *Steps) {
	p.text("c-muted", "start", p.left+8, p.bottom+33, s.YLabel)
	marks := ticks(s.most(), 5)
	p.highest = marks[len(marks)-1]
	p.left += 14 + width(short(p.highest))
	p.marks(marks)
	for v := s.XMin; v <= s.XMax; v += s.XStep {
		x := p.left + (p.right-p.left)*(v-s.XMin)/(s.XMax-s.XMin)
		p.line("c-axis", x, p.bottom, x, p.bottom+4)
		p.text("c-muted", "middle", x, p.bottom+17, short(v))
	}
	p.text("c-muted", "end", p.right, p.bottom+33, s.XLabel)
}

// bars draws the bars, adjacent ones of a kind as one path.
func (p *plot) bars(bars []Span, across func(float64) float64) {
	var d strings.Builder
	for i, b := range bars {
		left, top := across(b.From), p.y(b.Value)
		if right := max(across(b.To)-1, left+0.5); num(top) != num(p.bottom) {
			d.WriteString("M" + num(left) + "," + num(p.bottom) + "V" + num(top) + "H" + num(right) + "V" + num(p.bottom) + "Z")
		}
		if i == len(bars)-1 || bars[i+1].Kind != b.Kind {
			p.path(p.fill(b.Kind), d.String())
			d.Reset()
		}
	}
}

// steps draws the line, the area under it, and shades the part above the limit.
func (p *plot) steps(limit float64, panel *Panel, across func(float64) float64) {
	n := len(panel.X)
	x := make([]float64, n+1)
	zero, over, limits := make([]float64, n), make([]float64, n), make([]float64, n)
	line := p.heights(panel.Y)
	for i := range n {
		x[i], zero[i], limits[i] = across(panel.X[i]), p.bottom, p.y(limit)
		over[i] = min(line[i], limits[i])
	}
	x[n] = p.right
	p.path(`class="c-area"`, between(x, line, zero))
	p.path(p.fill(Denied), between(x, over, limits))
	p.path(`class="c-window"`, steps(x, line))
}

// peak writes the panel's peak beside its first highest point.
func (p *plot) peak(panel *Panel, across func(float64) float64) {
	highest := slices.Max(panel.Y)
	x, y := across(panel.X[slices.Index(panel.Y, highest)]), p.y(highest)
	p.WriteString(`<circle class="c-dot" cx="` + num(x) + `" cy="` + num(y) + `" r="3"/>` + "\n")
	anchor, beside := "end", x-7
	if x-width(panel.Peak)*1.3-9 < p.left {
		anchor, beside = "start", x+7
	}
	p.text("c-title c-halo", anchor, beside, max(y-5, p.top+4), panel.Peak)
}
