package chart

import (
	"cmp"
	"math"
	"strings"
)

// Steps are panels on the same two axes, each with a line of steps: for example
// what algorithms admit of one burst. The part above the limit is shaded, and
// the peak is written at the line.
type Steps struct {
	Frame
	Panels  []Panel
	Columns int     // panels in a row; 0 for all in one
	XMin    float64 // where the axis begins, for example in seconds
	XMax    float64 // where it ends
	XStep   float64 // between the axis's marks; 0 for a quarter of it
	XLabel  string
	YLabel  string
	Limit   Line
	Legend  []Item
}

// Panel is one line of steps. Its value is Y[i] from X[i], 0 before.
type Panel struct {
	Title    string
	Subtitle string // in muted text below; may be empty
	X, Y     []float64
	Peak     string // written at the highest value; may be empty
	Bars     []Span // behind the line, the first at the back
}

// Span is a bar from one x to another.
type Span struct {
	Kind     Kind
	From, To float64
	Value    float64
}

// panelHeight is a panel's height in pixels, with its titles and marks.
const panelHeight = 230

// Line is a dashed line at a value.
type Line struct {
	At    float64
	Label string
}

// SVG draws the panels. The frame's height is ignored: each row has the same.
func (s *Steps) SVG(theme Theme) string {
	f := s.Frame
	columns := max(1, min(cmp.Or(s.Columns, len(s.Panels)), len(s.Panels)))
	rows := max(1, (len(s.Panels)+columns-1)/columns)
	w := pixels(f.Width, Wide)
	head := s.head(theme, w)
	c := begin(&f, theme, w, head+float64(rows*panelHeight)+8)
	c.hatch()
	top := plot{canvas: c, top: 4}
	if theme != Inline && f.Title != "" {
		c.text("c-title", "start", 8, 22, f.Title)
		top.top = 34
	}
	top.legend(s.Legend)
	each := w / float64(columns)
	for i := range s.Panels {
		x, y := each*float64(i%columns), head+float64(i/columns*panelHeight)
		s.panel(c, &s.Panels[i], x, y, each)
	}
	return c.end()
}

// head returns the height of the title and the legend.
func (s *Steps) head(theme Theme, w float64) float64 {
	measure := plot{canvas: &canvas{w: w}, top: 4}
	if theme != Inline && s.Title != "" {
		measure.top = 34
	}
	measure.legend(s.Legend)
	return measure.top + 6
}

func (s *Steps) most() float64 {
	most := finite(s.Limit.At)
	for _, p := range s.Panels {
		for _, y := range p.Y {
			most = max(most, finite(y))
		}
		for _, b := range p.Bars {
			most = max(most, finite(b.Value))
		}
	}
	return most * 1.06
}

func (s *Steps) panel(c *canvas, panel *Panel, x, y, w float64) {
	p := plot{canvas: c, top: y, left: x, right: x + w - 16, bottom: y + panelHeight - 40}
	p.text("c-strong", "start", x+8, y+16, cut(panel.Title, int(w/advance/1.1)))
	p.top += 22
	if panel.Subtitle != "" {
		p.text("c-muted", "start", x+8, y+32, cut(panel.Subtitle, int(w/advance)))
		p.top += 16
	}
	p.axes(s)
	from, span := s.extent()
	across := func(v float64) float64 {
		return p.left + (p.right-p.left)*min(max(finite(v)-from, 0)/span, 1)
	}
	p.bars(panel.Bars, across)
	p.steps(s, panel, across)
	p.line("c-axis", p.left, p.bottom, p.right, p.bottom)
	p.limit(finite(s.Limit.At), s.Limit.Label)
	p.peak(panel, across)
}

// axes draws the axes, at equal places in all panels.
func (p *plot) axes(s *Steps) {
	left := p.left
	p.left += 8
	p.top += 4
	marks := ticks(s.most(), 5)
	p.highest = marks[len(marks)-1]
	p.left = left + 14 + width(short(p.highest))
	for _, v := range marks {
		p.line("c-grid", p.left, p.y(v), p.right, p.y(v))
		p.text("c-muted", "end", p.left-6, p.y(v)+4, short(v))
	}
	from, span := s.extent()
	step := finite(s.XStep)
	if step == 0 || span/step > 20 {
		step = span / 4
	}
	for v := 0.0; v <= span+step/1000; v += step {
		x := p.left + (p.right-p.left)*v/span
		p.line("c-axis", x, p.bottom, x, p.bottom+4)
		p.text("c-muted", "middle", x, p.bottom+17, short(from+v))
	}
	if s.XLabel != "" {
		p.text("c-muted", "end", p.right, p.bottom+33, s.XLabel)
	}
	if s.YLabel != "" {
		p.text("c-muted", "start", left+8, p.bottom+33, s.YLabel)
	}
}

// extent returns where the axis begins, and its length, at least 1.
func (s *Steps) extent() (from, span float64) {
	from = finite(s.XMin)
	return from, max(finite(s.XMax)-from, 1)
}

// bars draws the bars, adjacent ones of a kind as one path.
func (p *plot) bars(bars []Span, across func(float64) float64) {
	var d strings.Builder
	for i, b := range bars {
		left, top := across(b.From), p.y(finite(b.Value))
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
func (p *plot) steps(s *Steps, panel *Panel, across func(float64) float64) {
	n := min(len(panel.X), len(panel.Y))
	if n == 0 {
		return
	}
	x := make([]float64, n+1)
	line, zero, over, limit := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		x[i] = across(panel.X[i])
		v := finite(panel.Y[i])
		line[i], zero[i] = p.y(v), p.bottom
		limit[i] = p.y(finite(s.Limit.At))
		over[i] = min(line[i], limit[i])
	}
	x[n] = p.right
	p.path(`class="c-area"`, between(x, line, zero))
	p.path(p.fill(Denied), between(x, over, limit))
	p.path(`class="c-window"`, steps(x, line))
}

// peak writes the panel's peak beside its first highest point.
func (p *plot) peak(panel *Panel, across func(float64) float64) {
	highest, at := math.Inf(-1), 0.0
	for i := range min(len(panel.X), len(panel.Y)) {
		if v := finite(panel.Y[i]); v > highest {
			highest, at = v, panel.X[i]
		}
	}
	if math.IsInf(highest, -1) || panel.Peak == "" {
		return
	}
	x, y := across(at), p.y(highest)
	p.WriteString(`<circle class="c-dot" cx="` + num(x) + `" cy="` + num(y) + `" r="3"/>` + "\n")
	anchor, beside := "end", x-7
	if x-width(panel.Peak)*1.3-9 < p.left {
		anchor, beside = "start", x+7
	}
	p.text("c-title c-halo", anchor, beside, max(y-5, p.top+4), panel.Peak)
}
