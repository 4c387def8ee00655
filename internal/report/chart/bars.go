package chart

import "github.com/slidegate/slidegate/internal/text"

// Bars are horizontal bars, each beside its limit: for example the peaks of
// keys. The part above the limit has another colour, and the limit is a mark.
type Bars struct {
	Frame
	Rows []Row
}

// Row is one bar. All bars have the same scale.
type Row struct {
	Label string
	Value float64
	Limit float64 // 0 for none
}

const rowHeight = 38

// SVG draws the bars. The frame's height is ignored: each row has the same.
func (b *Bars) SVG(theme Theme) string {
	f := b.Frame
	w, top := pixels(f.Width, Wide), 2.0
	if theme != Inline && f.Title != "" {
		top = 34
	}
	c := begin(&f, theme, w, top+float64(rowHeight*max(len(b.Rows), 1)))
	if top > 30 {
		c.text("c-title", "start", 8, 22, f.Title)
	}
	most := 1.0
	for _, r := range b.Rows {
		most = max(most, finite(r.Value), finite(r.Limit))
	}
	for i, r := range b.Rows {
		y := top + float64(i*rowHeight)
		said := text.Thousands(int64(finite(r.Value)))
		if r.Limit > 0 {
			said += " of " + text.Thousands(int64(finite(r.Limit)))
		}
		c.text("", "start", 8, y+14, cut(r.Label, int((w-24)/advance)-len(said)))
		c.text("c-strong", "end", w-8, y+14, said)
		c.bar(r.Value, r.Limit, most, 8, y+20, w-16, 10)
	}
	return c.end()
}

// Bar draws one bar as a line of text or a cell of a table has it, 110 by 14
// pixels. Its scale ends at the larger of the two.
func Bar(id, title string, value, limit float64) string {
	const w, h = 110, 14
	c := begin(&Frame{ID: id, Title: title}, Inline, w, h)
	c.bar(value, limit, max(finite(value), finite(limit), 1), 1, 2, w-2, h-4)
	return c.end()
}

func (c *canvas) bar(value, limit, most, x, y, w, h float64) {
	value, limit = finite(value), finite(limit)
	c.rect("c-track", x, y, w, h)
	below := value
	if limit > 0 {
		below = min(value, limit)
	}
	c.shape(Allowed, x, y, w*below/most, h)
	if value > below {
		c.shape(Denied, x+w*below/most, y, w*(value-below)/most, h)
	}
	if limit > 0 {
		at := x + w*limit/most
		c.rect("c-mark", min(at-1, x+w-2), y-2, 2, h+4)
	}
}

// Spark draws counts over time without axes, 130 by 28 pixels: the series are
// stacked, and joined to at most 65 bars.
func Spark(id, title string, series []Series) string {
	const w, h, bars = 130, 28, 65
	t := Timeline{}
	for _, s := range series {
		each := (len(s.Values) + bars - 1) / bars
		joined := Series{Kind: s.Kind}
		for i, v := range s.Values {
			if i%each == 0 {
				joined.Values = append(joined.Values, 0)
			}
			joined.Values[i/each] += finite(v)
		}
		t.Series = append(t.Series, joined)
	}
	c := begin(&Frame{ID: id, Title: title}, Inline, w, h)
	c.hatch()
	tops, n := t.stack()
	p := plot{canvas: c, left: 1, right: w - 1, top: 2, bottom: h - 1, highest: 1}
	for _, v := range tops[len(tops)-1] {
		p.highest = max(p.highest, v)
	}
	x := make([]float64, n+1)
	for i := range x {
		x[i] = p.left + (p.right-p.left)*float64(i)/float64(n)
	}
	for i, s := range t.Series {
		p.path(p.fill(s.Kind), between(x, p.heights(tops[i+1]), p.heights(tops[i])))
	}
	return c.end()
}
