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

// theme has the colours of a picture.
type theme struct {
	suffix                        string // of the file's name
	background, text              color.Color
	offered, admitted, line, most color.Color
}

// themes are for pages in light and in dark mode.
var themes = []theme{
	{
		"", color.White, color.Gray{0x24},
		color.Gray{0xd4}, color.RGBA{0x7f, 0xb2, 0xe5, 0xff}, color.RGBA{0x1f, 0x5f, 0xa8, 0xff}, color.RGBA{0xc6, 0x28, 0x28, 0xff},
	},
	{
		"-dark", color.RGBA{0x0d, 0x11, 0x17, 0xff}, color.Gray{0xd8},
		color.Gray{0x44}, color.RGBA{0x2f, 0x6f, 0xb5, 0xff}, color.RGBA{0x79, 0xb8, 0xff, 0xff}, color.RGBA{0xff, 0x7b, 0x72, 0xff},
	},
}

// newPlot returns axes and a title in the theme's colours.
func (t *theme) newPlot(title string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = t.background
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "seconds", "requests"
	p.X.Tick.Marker = plot.TickerFunc(everyTwenty)
	p.Title.TextStyle.Color, p.Legend.TextStyle.Color = t.text, t.text
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = t.text, t.text
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = t.text, t.text
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end.Seconds(), 0, 340
	return p
}

// picture shows the offered and the admitted requests of each second, the sum
// of the admitted ones over the last minute, and the capacity.
func (t *theme) picture(l *limit.Limit) (*plot.Plot, error) {
	admitted := burst(l)
	trailing := trailing(admitted)
	offers, err := bars(offered(), t.offered)
	if err != nil {
		return nil, err
	}
	passes, err := bars(admitted, t.admitted)
	if err != nil {
		return nil, err
	}
	line, err := plotter.NewLine(trailing)
	if err != nil {
		return nil, err
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, t.line, vg.Points(1.5)
	most := plotter.NewFunction(func(float64) float64 { return capacity })
	most.Color, most.Dashes, most.Width = t.most, []vg.Length{vg.Points(4), vg.Points(3)}, vg.Points(1)

	p := t.newPlot(fmt.Sprintf("%s: at most %d in any minute", l.Algorithm, peak(trailing)))
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

// svg draws plots in rows, each 18 by 8 cm.
func svg(rows [][]*plot.Plot) ([]byte, error) {
	canvas := vgsvg.New(vg.Length(len(rows[0]))*18*vg.Centimeter, vg.Length(len(rows))*8*vg.Centimeter)
	all := draw.New(canvas)
	all.SetColor(rows[0][0].BackgroundColor)
	all.Fill(all.Rectangle.Path())
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadRight: vg.Points(14), PadX: vg.Points(14), PadY: vg.Points(10)}
	for i, row := range plot.Align(rows, tiles, all) {
		for j, tile := range row {
			rows[i][j].Draw(tile)
		}
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	// Readers of pages have other fonts than the one that the layout used.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:system-ui,Liberation Sans,Arial,sans-serif")), err
}
