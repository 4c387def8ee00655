package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/chart"
	"github.com/slidegate/slidegate/internal/limit"
)

const (
	from = 40 * time.Second // where the axis begins: nothing is sent before
	bar  = 5 * time.Second
)

// about says in a few words what an algorithm does.
var about = map[limit.Algorithm]string{
	limit.SlidingWindow: "never more than 100", limit.SlidingWindowCounter: "two counters, weighted",
	limit.FixedWindow: "starts anew each minute", limit.TokenBucket: "100 saved, 100 refilled",
	limit.SlidingWindowLog: "remembers every request", limit.LeakyBucket: "passes on evenly",
}

// figures returns the SVG files by name: for pages and for phones, light and
// dark.
func figures() map[string]string {
	files := map[string]string{}
	for name, shown := range map[string][]limit.Algorithm{
		"burst": {limit.SlidingWindow, limit.SlidingWindowCounter, limit.FixedWindow, limit.TokenBucket},
		"algorithms": {
			limit.SlidingWindow, limit.SlidingWindowLog, limit.SlidingWindowCounter,
			limit.FixedWindow, limit.TokenBucket, limit.LeakyBucket,
		},
	} {
		f := figure(name, shown)
		for size, width := range map[string]int{"": 830, "-phone": 360} {
			f.Width = width
			files[name+size+".svg"] = f.SVG(chart.Light)
			files[name+size+"-dark.svg"] = f.SVG(chart.Dark)
		}
	}
	return files
}

func figure(name string, shown []limit.Algorithm) *chart.Steps {
	s := &chart.Steps{
		Frame:   chart.Frame{ID: name, Title: "One burst, a limit of 100 a minute"},
		Columns: 2, XMin: from.Seconds(), XMax: end.Seconds(), XStep: 20, XLabel: "seconds", YLabel: "requests",
		Limit: capacity,
		Legend: []chart.Item{
			{Kind: chart.Window, Name: "allowed in the last 60 s"}, {Kind: chart.Denied, Name: "above the limit"},
			{Kind: chart.Limit, Name: "limit"},
			{Kind: chart.Allowed, Name: "allowed per 5 s"}, {Kind: chart.Offered, Name: "sent per 5 s"},
		},
	}
	s.Desc = "The most requests that were allowed in any minute:"
	for _, algorithm := range shown {
		p := panel(&limits()[algorithm])
		s.Panels = append(s.Panels, p)
		s.Desc += " " + p.Title + " " + p.Peak + "."
	}
	return s
}

// panel shows the sum of the allowed requests over the last minute, and behind
// it the sent and the allowed requests of every five seconds.
func panel(l *limit.Limit) chart.Panel {
	allowed := burst(l)
	p := chart.Panel{Title: l.Algorithm.String(), Subtitle: about[l.Algorithm]}
	p.X, p.Y = trailing(allowed)
	p.Peak = fmt.Sprint(slices.Max(p.Y))
	p.Bars = append(bars(chart.Offered, offered()), bars(chart.Allowed, allowed)...)
	return p
}

func bars(kind chart.Kind, times []time.Duration) []chart.Span {
	spans := make([]chart.Span, end/bar)
	for i := range spans {
		begin := time.Duration(i) * bar
		spans[i] = chart.Span{Kind: kind, From: begin.Seconds(), To: (begin + bar).Seconds()}
	}
	for _, t := range times {
		if t < end {
			spans[t/bar].Value++
		}
	}
	return spans
}

// trailing returns how many requests passed in the window before each moment:
// the highest such number of every quarter of a second, with its time in
// seconds.
func trailing(passed []time.Duration) (x, y []float64) {
	const step = time.Second / 4
	until := func(t time.Duration) int {
		n, _ := slices.BinarySearch(passed, t+1)
		return n
	}
	count := func(t time.Duration) float64 { return float64(until(t) - until(t-window)) }
	for t := time.Duration(0); t < end; t += step {
		x, y = append(x, t.Seconds()), append(y, count(t))
	}
	for _, t := range passed { // the number grows at these times only
		if t < end {
			y[t/step] = max(y[t/step], count(t))
		}
	}
	return x, y
}
