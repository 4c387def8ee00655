package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/slidegate/slidegate/bench/compare/cases"
	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
	"github.com/slidegate/slidegate/bench/drawing"
)

// charts returns the picture of growth in each theme, by file name. There is
// none if nothing was measured for it.
func charts(d *Data) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, theme := range drawing.Themes {
		var rows [][]*plot.Plot
		for _, chart := range cases.Charts {
			points := d.points(chart)
			if len(points) < 2 {
				continue
			}
			p, err := grown(&theme, chart, points)
			if err != nil {
				return nil, err
			}
			if n := len(rows); n == 0 || len(rows[n-1]) == perRow {
				rows = append(rows, nil)
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], p)
		}
		if len(rows) == 0 {
			return nil, nil
		}
		for n := len(rows) - 1; len(rows[n]) < len(rows[0]); {
			rows[n] = append(rows[n], nil)
		}
		picture, err := drawing.SVG(rows)
		if err != nil {
			return nil, err
		}
		files["growth"+theme.Suffix+".svg"] = picture
	}
	return files, nil
}

const perRow = 3

// grown draws the time of a decision, and that of the bare operation.
func grown(t *drawing.Theme, chart string, points [][]measure.Result) (*plot.Plot, error) {
	p := t.Plot(chart, "", "ns")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(powers), plot.TickerFunc(powers)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, vg.Points(6)
	low, high := math.Inf(1), 0.0
	for i, name := range []string{subject.Slidegate, subject.Bare} {
		line := make(plotter.XYs, len(points))
		for n, results := range points {
			r := results[len(results)-1-i]
			line[n] = plotter.XY{X: r.X, Y: max(r.Time, 1)}
			low, high = min(low, line[n].Y), max(high, line[n].Y)
		}
		drawn, err := plotter.NewLine(line)
		if err != nil {
			return nil, err
		}
		drawn.Width, drawn.Color = vg.Points(1.5), t.Line
		if name == subject.Bare {
			drawn.Color, drawn.Dashes = t.Most, []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(drawn)
		p.Legend.Add(name, drawn)
	}
	// Whole powers of ten, so that a flat line looks flat.
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(low))), 10*math.Pow(10, math.Ceil(math.Log10(high)))
	return p, nil
}

// powers returns the powers of ten of an axis.
func powers(from, to float64) (ticks []plot.Tick) {
	for exponent := math.Floor(math.Log10(from)); exponent <= math.Ceil(math.Log10(to)); exponent++ {
		if v := math.Pow(10, exponent); v >= from && v <= to {
			ticks = append(ticks, plot.Tick{Value: v, Label: thousands(v)})
		}
	}
	return ticks
}
