package main

import (
	"bytes"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

func init() { plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"} }

// theme has the colours of a chart.
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

// axes returns a picture's axes and title in the theme's colours.
func (t *theme) axes(title string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = t.background
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "seconds", "requests"
	p.X.Tick.Marker = plot.TickerFunc(everyTwenty)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end.Seconds(), 0, 340
	p.Title.TextStyle.Color, p.Legend.TextStyle.Color = t.text, t.text
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = t.text, t.text
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = t.text, t.text
	}
	return p
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
