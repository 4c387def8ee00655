package chart

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timeline is a chart of counts over time, stacked: for example what was
// allowed, and above it what was denied.
type Timeline struct {
	Frame
	From   time.Time     // when the first bucket begins
	Bucket time.Duration // the length of a bucket, at least 1
	Series []Series      // from below
	Unit   string        // of the values, for example "requests per minute"
	Tips   bool          // name each bucket's values while the mouse is on it
}

// Series is one layer of a Timeline. A missing value is 0.
type Series struct {
	Kind   Kind
	Name   string
	Values []float64 // one for each bucket
}

// SVG draws the chart.
func (t *Timeline) SVG(theme Theme) string {
	p := plot{canvas: begin(&t.Frame, theme, float64(t.Width), 280)}
	var items []Item
	for _, s := range t.Series {
		items = append(items, Item{s.Kind, s.Name})
		if s.Kind == Shadow {
			p.hatch()
		}
	}
	p.heading(items)
	tops, n := t.stack()
	most := slices.Max(tops[len(tops)-1])
	p.bottom, p.right = p.h-38, p.w-10
	p.vertical(most, t.Unit)
	until := t.From.Add(time.Duration(n) * t.Bucket)
	p.timeAxis(t.From, until)

	x := make([]float64, n+1)
	for i := range x {
		x[i] = p.left + (p.right-p.left)*float64(i)/float64(n)
	}
	for i, s := range t.Series {
		p.path(p.fill(s.Kind), between(x, p.heights(tops[i+1]), p.heights(tops[i])))
	}
	p.line("c-axis", p.left, p.bottom, p.right, p.bottom)
	if most == 0 {
		p.text("c-muted", "middle", (p.left+p.right)/2, (p.top+p.bottom)/2, "no requests")
	}
	if t.Tips {
		t.tips(&p, x)
	}
	return p.end()
}

// stack returns the border below each series and above the last, and the
// number of buckets: at least one.
func (t *Timeline) stack() (tops [][]float64, n int) {
	n = 1
	for _, s := range t.Series {
		n = max(n, len(s.Values))
	}
	tops = [][]float64{make([]float64, n)}
	for _, s := range t.Series {
		top := append([]float64(nil), tops[len(tops)-1]...)
		for i, v := range s.Values {
			top[i] += v
		}
		tops = append(tops, top)
	}
	return tops, n
}

func (t *Timeline) tips(p *plot, x []float64) {
	for i := range len(x) - 1 {
		var said []string
		for _, s := range t.Series {
			if i < len(s.Values) && s.Values[i] > 0 {
				said = append(said, s.Name+" "+exact(s.Values[i]))
			}
		}
		if len(said) == 0 {
			continue
		}
		from := t.From.Add(time.Duration(i) * t.Bucket).UTC().Format("2 Jan 15:04:05")
		fmt.Fprintf(p, "<rect class=\"c-tip\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>\n", num(x[i]), num(p.top),
			num(x[i+1]-x[i]), num(p.bottom-p.top), escape(from+": "+strings.Join(said, "; ")))
	}
}
