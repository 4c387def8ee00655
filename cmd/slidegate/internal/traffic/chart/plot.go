package chart

import "time"

// plot is the part of a canvas inside axes. A value of highest is at top.
type plot struct {
	*canvas
	left, right, top, bottom float64
	highest                  float64
}

// y returns where a value is.
func (p *plot) y(v float64) float64 { return p.bottom - (p.bottom-p.top)*v/p.highest }

func (p *plot) heights(values []float64) []float64 {
	at := make([]float64, len(values))
	for i, v := range values {
		at[i] = p.y(v)
	}
	return at
}

// Item is an entry of a legend.
type Item struct {
	Kind Kind
	Name string
}

// heading writes the title, which a page has in its own text, and the legend in
// rows. It moves p.top below them.
func (p *plot) heading(items []Item) {
	p.top = 4
	if p.theme != Inline && p.Title != "" {
		p.text("c-title", "start", 8, 22, p.Title)
		p.top = 34
	}
	x, y := 8.0, p.top+14
	for i, item := range items {
		wide := 18 + width(item.Name) + 12
		if i > 0 && x+wide > p.w {
			x, y = 8, y+19
		}
		switch item.Kind {
		case Window, Limit:
			p.line("c-"+string(item.Kind), x, y-4, x+13, y-4)
		default:
			p.shape(item.Kind, x+0.5, y-9.5, 11, 11)
		}
		p.text("c-legend", "start", x+18, y, item.Name)
		x += wide
	}
	if len(items) > 0 {
		p.top = y + 8
	}
}

// vertical draws the axis of values up to most, and sets p.left and p.highest.
// The unit is above the axis.
func (p *plot) vertical(most float64, unit string) {
	if unit != "" {
		p.text("c-muted", "start", 8, p.top+12, unit)
		p.top += 18
	}
	p.top += 6
	marks := ticks(most, max(2, int((p.bottom-p.top)/34)))
	p.highest = marks[len(marks)-1]
	for _, v := range marks {
		p.left = max(p.left, 14+width(short(v)))
	}
	p.marks(marks)
}

// marks draws the marks of the axis of values.
func (p *plot) marks(values []float64) {
	for _, v := range values {
		p.line("c-grid", p.left, p.y(v), p.right, p.y(v))
		p.text("c-muted", "end", p.left-6, p.y(v)+4, short(v))
	}
}

// timeAxis draws the marks of time, and under them the first and last time.
func (p *plot) timeAxis(from, until time.Time) {
	marks, labels := timeTicks(from, until, p.right-p.left)
	for i, at := range marks {
		x := p.left + (p.right-p.left)*float64(at.Sub(from))/float64(until.Sub(from))
		p.line("c-axis", x, p.bottom, x, p.bottom+4)
		p.text("c-muted", "middle", x, p.bottom+17, labels[i])
	}
	p.text("c-muted", "end", p.right, p.bottom+33, extent(from, until))
}
