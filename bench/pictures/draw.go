package main

import (
	"bytes"
	"fmt"
	"image/color"
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
	trailing := trailing(passed)
	p := plot.New()
	p.BackgroundColor = white
	p.Title.Text = fmt.Sprintf("%s, 100 a minute: at most %d in any minute", l.Algorithm, peak(trailing))
	p.X.Label.Text, p.Y.Label.Text = "seconds", "requests passed on"
	p.X.Tick.Marker = plot.TickerFunc(everyTwenty)

	bars, err := plotter.NewHistogram(perSecond(passed), int(end/time.Second))
	if err != nil {
		return nil, err
	}
	bars.FillColor, bars.LineStyle.Width = sky, 0
	line, err := plotter.NewLine(trailing)
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

// trailing returns the number of requests that passed in the window before each
// time at which it changes, and at the end. It changes when a request passes and
// a window later.
func trailing(passed []time.Duration) plotter.XYs {
	var points plotter.XYs
	entered, left := 0, 0
	for entered < len(passed) || left < len(passed) {
		t := passed[left] + window
		if entered < len(passed) && passed[entered] < t {
			t = passed[entered]
			entered++
		} else {
			left++
		}
		if t >= end {
			break
		}
		points = append(points, plotter.XY{X: t.Seconds(), Y: float64(entered - left)})
	}
	last := points[len(points)-1]
	return append(points, plotter.XY{X: end.Seconds(), Y: last.Y})
}

func peak(points plotter.XYs) int {
	_, _, _, highest := plotter.XYRange(points)
	return int(highest)
}

func everyTwenty(from, to float64) (ticks []plot.Tick) {
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
