package main

import (
	"bytes"
	"fmt"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/slidegate/slidegate/internal/limit"
)

var (
	blue  = color.RGBA{0x1f, 0x5f, 0xa8, 0xff}
	sky   = color.RGBA{0x9c, 0xc4, 0xe8, 0xff}
	red   = color.RGBA{0xc6, 0x28, 0x28, 0xff}
	white = color.White
)

// picture shows the passed requests of each second, the sum over the last
// minute, and the capacity.
func picture(l *limit.Limit, passed []time.Duration) (*plot.Plot, error) {
	counts := trailing(passed)
	p := plot.New()
	p.BackgroundColor = white
	p.Title.Text = fmt.Sprintf("%s, 100 a minute: at most %d in any minute", l.Algorithm, slices.Max(counts))
	p.X.Label.Text, p.Y.Label.Text = "seconds", "requests passed on"
	p.X.Tick.Marker = everyTwenty{}

	bars, err := plotter.NewHistogram(perSecond(passed), int(end/time.Second))
	if err != nil {
		return nil, err
	}
	bars.FillColor, bars.LineStyle.Width = sky, 0
	line, err := plotter.NewLine(held(passed))
	if err != nil {
		return nil, err
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, blue, vg.Points(1.5)
	most := plotter.NewFunction(func(float64) float64 { return capacity })
	most.Color, most.Dashes, most.Width = red, []vg.Length{vg.Points(4), vg.Points(3)}, vg.Points(1)

	p.Add(bars, line, most)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end.Seconds(), 0, 220
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, vg.Points(6)
	p.Legend.Add("in the minute that ends here", line)
	p.Legend.Add("in this second", bars)
	p.Legend.Add("capacity", most)
	return p, nil
}

func perSecond(passed []time.Duration) plotter.XYer {
	seconds := make(plotter.XYs, int(end/time.Second))
	for i := range seconds {
		seconds[i].X = float64(i)
	}
	for _, t := range passed {
		if i := int(t / time.Second); i < len(seconds) {
			seconds[i].Y++
		}
	}
	return seconds
}

// held returns the number of requests in the last minute at each time it
// changes, and at the end. It changes when a request comes and a minute later.
func held(passed []time.Duration) plotter.XYs {
	var points plotter.XYs
	come, gone := 0, 0
	for come < len(passed) || gone < len(passed) {
		t := passed[gone] + window
		if come < len(passed) && passed[come] < t {
			t = passed[come]
			come++
		} else {
			gone++
		}
		if t >= end {
			break
		}
		points = append(points, plotter.XY{X: t.Seconds(), Y: float64(come - gone)})
	}
	last := points[len(points)-1]
	return append(points, plotter.XY{X: end.Seconds(), Y: last.Y})
}

type everyTwenty struct{}

// Ticks marks every twenty seconds.
func (everyTwenty) Ticks(from, to float64) (ticks []plot.Tick) {
	for s := from; s <= to; s += 20 {
		ticks = append(ticks, plot.Tick{Value: s, Label: fmt.Sprint(int(s))})
	}
	return ticks
}

func svg(l *limit.Limit, passed []time.Duration) ([]byte, error) {
	p, err := picture(l, passed)
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(18*vg.Centimeter, 8*vg.Centimeter)
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(4), -vg.Points(14), 0, -vg.Points(4)))
	var out bytes.Buffer
	_, err = canvas.WriteTo(&out)
	return out.Bytes(), err
}
