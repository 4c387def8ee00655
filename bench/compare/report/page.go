package report

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/slidegate/slidegate/bench/compare/cases"
	"github.com/slidegate/slidegate/bench/compare/exact"
	"github.com/slidegate/slidegate/bench/compare/measure"
)

var (
	//go:embed *.md.tmpl
	files embed.FS

	functions = template.FuncMap{
		"number": number, "duration": duration, "dollars": func(r measure.Result) string { return fmt.Sprintf("%.2f", dollars(&r)) },
		"speed":    func(r measure.Result) string { return number(1 / r.Ratio) },
		"percent":  func(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) },
		"calls":    thousandths,
		"allocs":   thousands,
		"fullest":  func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"patterns": func() string { return strings.Join(exact.Patterns(), " | ") },
		"columns":  func() string { return strings.Repeat("|---", len(exact.Patterns())) },
		"price": func() string {
			return fmt.Sprintf("$%.3f for a million write units and $%.3f for a million read units", writePrice, readPrice)
		},
		"thousand": func(v int) string { return thousands(float64(v)) },
	}
	templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "*"))
)

// Short writes the table of the targets.
func Short(out io.Writer, d *Data) error { return templates.ExecuteTemplate(out, "short.md.tmpl", d) }

// Write writes performance.md, performance.json and the charts into the
// folder of the docs.
func Write(folder string, d *Data) error {
	charts, err := charts(d)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, "page.md.tmpl", d); err != nil {
		return err
	}
	figures, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	written := map[string][]byte{"performance.md": []byte(text.String()), "performance.json": append(figures, '\n')}
	for name, chart := range charts {
		written[filepath.Join("pictures", name)] = chart
	}
	for name, content := range written {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// growth is what a chart shows.
type growth struct {
	Chart, From, To     string
	Least, Most         string // the time of a decision at both ends
	LeastRatio, ToRatio string
	Verdict             string
}

// flat is by how much the ratio to the bare operation may grow.
const flat = 1.5

// Growth returns a line for each chart.
func (d *Data) Growth() (all []growth) {
	for _, chart := range cases.Charts {
		points := d.points(chart)
		if len(points) < 2 {
			continue
		}
		first, last := points[0], points[len(points)-1]
		from, to := first[len(first)-1], last[len(last)-1]
		g := growth{
			Chart: chart, From: thousands(from.X), To: thousands(to.X), Least: duration(from.Time), Most: duration(to.Time),
			LeastRatio: times(from.Ratio), ToRatio: times(to.Ratio), Verdict: "flat",
		}
		// The ends do not show a rise or a fall between them.
		low, high := from, from
		for _, p := range points {
			point := p[len(p)-1]
			if point.Ratio < low.Ratio {
				low = point
			}
			if point.Ratio > high.Ratio {
				high = point
			}
		}
		switch {
		case high.Ratio > flat*from.Ratio:
			g.Verdict = fmt.Sprintf("up to %s at %s. %s", times(high.Ratio), thousands(high.X), explanations[chart])
		case low.Ratio*flat < from.Ratio:
			g.Verdict = fmt.Sprintf("falls to %s at %s", times(low.Ratio), thousands(low.X))
		}
		all = append(all, g)
	}
	return all
}
