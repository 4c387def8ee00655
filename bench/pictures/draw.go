package main

import (
	"fmt"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/slidegate/slidegate/internal/limit"
)

// picture shows the offered and the admitted requests of each second, the sum
// of the admitted ones over the last minute, and the capacity.
func picture(t *theme, l *limit.Limit) (*plot.Plot, error) {
	admitted := burst(l)
	sums := trailing(admitted)
	offers, err := bars(offered(), t.offered)
	if err != nil {
		return nil, err
	}
	passes, err := bars(admitted, t.admitted)
	if err != nil {
		return nil, err
	}
	line, err := plotter.NewLine(sums)
	if err != nil {
		return nil, err
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, t.line, vg.Points(1.5)
	most := plotter.NewFunction(func(float64) float64 { return capacity })
	most.Color, most.Dashes, most.Width = t.most, []vg.Length{vg.Points(4), vg.Points(3)}, vg.Points(1)

	p := t.axes(fmt.Sprintf("%s: at most %d in any minute", l.Algorithm, peak(sums)))
	p.Add(offers, passes, line, most)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, vg.Points(6)
	p.Legend.Add("admitted in the last minute", line)
	p.Legend.Add("admitted in this second", passes)
	p.Legend.Add("offered in this second", offers)
	p.Legend.Add("capacity", most)
	return p, nil
}

func bars(times []time.Duration, fill color.Color) (*plotter.Histogram, error) {
	h, err := plotter.NewHistogram(perSecond(times), int(end/time.Second))
	if err != nil {
		return nil, err
	}
	h.FillColor, h.LineStyle.Width = fill, 0
	return h, nil
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
