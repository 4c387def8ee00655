package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata")

var start = time.Date(2015, 5, 17, 10, 5, 0, 0, time.UTC)

// wave returns n counts between 0 and most.
func wave(n int, most float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Round(most / 2 * (1 + math.Sin(float64(i)/float64(n)*14)))
	}
	return values
}

func timeline(n int, bucket time.Duration, most float64) *Timeline {
	return &Timeline{
		Frame: Frame{ID: "t", Title: "Traffic", Desc: "What the rules decide.", Width: Wide}, From: start, Bucket: bucket, Unit: "requests per minute", Tips: n < 30,
		Series: []Series{{Allowed, "allowed", wave(n, most)}, {Denied, "denied", wave(n, most/3)}, {Shadow, "would be denied", wave(n, most/5)}},
	}
}

func burst(panels int) *Steps {
	s := &Steps{
		Frame: Frame{ID: "s", Title: "One burst", Desc: "What algorithms admit.", Width: Wide}, XMin: 40, XMax: 120, XStep: 20, XLabel: "seconds", YLabel: "requests",
		Limit: 100, Columns: 2, Legend: []Item{{Window, "allowed in the last minute"}, {Offered, "sent"}, {Allowed, "allowed"}, {Denied, "above the limit"}},
	}
	for i := range panels {
		s.Panels = append(s.Panels, Panel{
			Title: fmt.Sprintf("algorithm_%d", i), Subtitle: "at most 198 in any minute", X: []float64{10, 59, 60, 80, 110}, Y: []float64{40, 100, 198, 110, 0},
			Peak: "198", Bars: []Span{{Offered, 59, 60, 100}, {Allowed, 59, 60, 80}},
		})
	}
	return s
}

func TestGolden(t *testing.T) {
	small := []Series{{Allowed, "allowed", wave(20, 9)}, {Denied, "denied", wave(20, 3)}}
	narrow := timeline(96, time.Hour, 12345)
	narrow.Width = Narrow
	for name, got := range map[string]string{
		"timeline.inline":  timeline(24, time.Hour, 120).SVG(Inline),
		"timeline.light":   timeline(300, 15*time.Minute, 5).SVG(Light),
		"timeline.narrow":  narrow.SVG(Dark),
		"timeline.empty":   (&Timeline{Frame: Frame{ID: "e", Title: "Nothing", Width: Wide}, Bucket: 1}).SVG(Dark),
		"steps.light":      burst(4).SVG(Light),
		"bar.inline":       Bar("p", "peak 12 of 10", 12, 10, Denied),
		"spark.inline":     Spark("k", "requests over time", small),
		"timeline.oneonly": timeline(1, time.Second, 1).SVG(Light),
	} {
		path := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("%s differs (%v); run with -update and look at it", path, err)
		}
	}
}

// Whatever the values and texts, a drawing is well-formed, has its coordinates
// within its view box, and names itself.
func TestEveryDrawingIsWithinItsBox(t *testing.T) {
	values := []float64{0, 1, 1e18, 0.3}
	var drawings []string
	for _, theme := range []Theme{Inline, Light, Dark} {
		for _, width := range []int{240, Narrow, Wide, 2000} {
			for _, n := range []int{0, 1, 2, 7, 400} {
				for _, bucket := range []time.Duration{time.Nanosecond, time.Second, time.Hour, 1000 * time.Hour} {
					line := timeline(n, bucket, float64(n*n*n))
					line.Width = width
					drawings = append(drawings, line.SVG(theme))
				}
			}
			odd := timeline(9, time.Minute, 1)
			odd.Width, odd.Series[1].Values = width, values
			odd.Series[2].Name = strings.Repeat("long ", 90)
			steps := burst(5)
			steps.Width, steps.Columns = width, 1+len(drawings)%4
			steps.Panels[0].X, steps.Panels[0].Y = values, values
			steps.Panels[2].Title, steps.Panels[2].Bars = strings.Repeat("w", 300), []Span{{Allowed, 0, 1e9, 0}}
			for _, v := range values {
				drawings = append(drawings, Bar("b", "t", v, 3, Denied), Bar("b", "t", 3, v, Shadow))
			}
			drawings = append(drawings, odd.SVG(theme), steps.SVG(theme), Spark("", "", nil), Spark("s", "t", []Series{{Shadow, "", values}}))
		}
	}
	for _, svg := range drawings {
		if err := within(svg); err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
}

var number = regexp.MustCompile(`-?[0-9.]+`)

// within reads a drawing and checks every coordinate.
func within(svg string) error {
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Contains(svg, ` style="`) {
		return fmt.Errorf("NaN, Inf or a style attribute")
	}
	var box [2]float64
	var names []string
	pattern := false
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		end, ok := token.(xml.EndElement)
		pattern = pattern && !(ok && end.Name.Local == "pattern")
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		names = append(names, e.Name.Local)
		pattern = pattern || e.Name.Local == "pattern"
		a := map[string]float64{}
		for _, at := range e.Attr {
			a[at.Name.Local], _ = strconv.ParseFloat(at.Value, 64)
			if at.Name.Local == "viewBox" {
				fmt.Sscanf(at.Value, "0 0 %f %f", &box[0], &box[1])
			}
			if at.Name.Local == "d" {
				if err := onPath(at.Value, box); err != nil {
					return err
				}
			}
		}
		if e.Name.Local == "svg" || pattern {
			continue
		}
		const edge = 0.11 // of rounding
		for _, v := range []struct{ at, most float64 }{
			{a["x"], box[0]}, {a["y"], box[1]}, {a["x1"], box[0]}, {a["x2"], box[0]}, {a["y1"], box[1]}, {a["y2"], box[1]},
			{a["cx"], box[0]}, {a["cy"], box[1]}, {a["x"] + a["width"], box[0]}, {a["y"] + a["height"], box[1]}, {a["width"], box[0]}, {a["height"], box[1]},
		} {
			if v.at < -edge || v.at > v.most+edge {
				return fmt.Errorf("%s is at %g of %g", e.Name.Local, v.at, v.most)
			}
		}
	}
	if len(names) < 3 || names[0] != "svg" || names[1] != "title" || names[2] != "desc" {
		return fmt.Errorf("the first elements are %q", names[:min(3, len(names))])
	}
	return nil
}

func onPath(d string, box [2]float64) error {
	for _, part := range regexp.MustCompile(`[MHVZ][^MHVZ]*`).FindAllString(d, -1) {
		for i, s := range number.FindAllString(part, -1) {
			v, err := strconv.ParseFloat(s, 64)
			vertical := part[0] == 'V' || i == 1
			most := box[0]
			if vertical {
				most = box[1]
			}
			if err != nil || v < 0 || v > most+0.1 {
				return fmt.Errorf("a path is at %s of %g", part, most)
			}
		}
	}
	return nil
}

func TestTextIsEscaped(t *testing.T) {
	const bad = "</title><script>alert(1)</script>\"'&\x00\u202e"
	line := timeline(3, time.Hour, 9)
	line.ID, line.Title, line.Desc, line.Unit, line.Series[0].Name, line.Series[1].Kind = bad, bad, bad, bad, bad, bad
	steps := burst(1)
	steps.XLabel, steps.YLabel, steps.Legend[0].Name, steps.Panels[0].Title, steps.Panels[0].Subtitle, steps.Panels[0].Peak = bad, bad, bad, bad, bad, bad
	for _, svg := range []string{line.SVG(Inline), steps.SVG(Dark), line.SVG(Light), Bar(bad, bad, 2, 1, bad), Spark(bad, bad, nil)} {
		if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x00\u202e") {
			t.Errorf("not escaped:\n%s", svg)
		}
		if err := within(svg); err != nil {
			t.Errorf("%v\n%s", err, svg)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, tc := range []struct {
		most float64
		n    int
		want string
	}{
		{0, 5, "0 1"}, {1, 5, "0 1"}, {3, 5, "0 1 2 3"}, {7, 5, "0 2 4 6 8"}, {10, 5, "0 2 4 6 8 10"}, {11, 5, "0 5 10 15"},
		{198, 5, "0 50 100 150 200"}, {12345, 4, "0 5,000 10k 15k"}, {2.4e6, 5, "0 500k 1M 1.5M 2M 2.5M"},
	} {
		var got []string
		for _, v := range ticks(tc.most, tc.n) {
			got = append(got, short(v))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("ticks(%g, %d) = %s, want %s", tc.most, tc.n, s, tc.want)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	for _, tc := range []struct {
		span time.Duration
		room float64
		want string
	}{
		{time.Second, 300, "10:05:00 10:05:01"},
		{time.Minute, 300, "10:05:00 10:05:15 10:05:30 10:05:45 10:06:00"},
		{time.Hour, 300, "10:10 10:20 10:30 10:40 10:50 11:00"},
		{20 * time.Hour, 300, "12:00 18:00 18 May 06:00"},
		{4 * day, 300, "18 May 19 May 20 May 21 May"},
		{40 * day, 300, "18 May 25 May 1 Jun 8 Jun 15 Jun 22 Jun"},
		{800 * day, 300, "Aug 2015 Aug 2016"},
	} {
		_, labels := timeTicks(start, start.Add(tc.span), tc.room)
		if got := strings.Join(labels, " "); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.span, got, tc.want)
		}
	}
}

// A page has each colour by a variable; a file has the colours themselves.
func TestThemes(t *testing.T) {
	page := Style()
	if !strings.Contains(page, "--chart-denied:#c8401a") || !strings.Contains(page, "prefers-color-scheme:dark") {
		t.Errorf("the page's style lacks the palette:\n%s", page)
	}
	for _, p := range palette {
		if !strings.Contains(rules, "var("+p.name+")") {
			t.Errorf("no rule has %s", p.name)
		}
	}
	for theme, want := range map[Theme]string{Light: "#ffffff", Dark: "#0d1117"} {
		if svg := burst(1).SVG(theme); strings.Contains(svg, "var(") || !strings.Contains(svg, want) {
			t.Errorf("theme %d has variables, or not %s", theme, want)
		}
	}
	if strings.Contains(burst(1).SVG(Inline), "<style") {
		t.Error("an inline drawing has a style of its own")
	}
}

// Text has a contrast of 4.5 to the background and shapes one of 3, as WCAG AA
// asks for.
func TestContrast(t *testing.T) {
	back := palette[0]
	for _, p := range palette[1:] {
		want := 3.0
		switch p.name {
		case "--chart-grid":
			continue // decoration
		case "--chart-text", "--chart-muted":
			want = 4.5
		}
		for _, pair := range [][2]string{{p.light, back.light}, {p.dark, back.dark}} {
			if got := contrast(pair[0], pair[1]); got < want {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %g", p.name, pair[0], pair[1], got, want)
			}
		}
	}
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(colour string) float64 {
	v, _ := strconv.ParseUint(colour[1:], 16, 32)
	sum := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		c := float64(v>>(8*i)&255) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
