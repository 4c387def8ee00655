package chart

// Bar draws a value beside its limit, 0 for none, as a line of text or a cell of
// a table has it: 110 by 14 pixels. The part above the limit is of the kind above,
// and the limit is a mark. The scale ends at the larger of the two.
func Bar(id, title string, value, limit float64, above Kind) string {
	const x, y, w, h = 1, 2, 108, 10
	c := begin(&Frame{ID: id, Title: title}, Inline, w+2*x, h+2*y)
	most := max(value, limit, 1)
	c.rect("c-track", x, y, w, h)
	below := value
	if limit > 0 {
		below = min(value, limit)
	}
	c.shape(Allowed, x, y, w*below/most, h)
	if value > below {
		if above == Shadow {
			c.hatch()
		}
		c.shape(above, x+w*below/most, y, w*(value-below)/most, h)
	}
	if limit > 0 {
		at := x + w*limit/most
		c.rect("c-mark", min(at-1, x+w-2), y-2, 2, h+4)
	}
	return c.end()
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
			joined.Values[i/each] += v
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
