package admin

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/chart"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

//go:embed page.html
var source string

//go:embed live.css
var ownStyle string

//go:embed live.js
var script string

var (
	style     = chart.Style() + ownStyle
	policy    = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", chart.Hash(style), chart.Hash(script))
	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"printable": text.Printable, "key": text.Key, "thousands": text.Thousands[int64], "rate": rate,
		"percent": func(share float64) string { return fmt.Sprintf("%.0f%%", math.Floor(share*100)) },
		"clock":   func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"stamp":   text.Stamp,
		"wait":    func(seconds float64) string { return text.Wait(time.Duration(seconds * float64(time.Second))) },
		"style":   func() template.CSS { return template.CSS(style) },
		"script":  func() template.JS { return template.JS(script) },
		"shown":   func() int { return shownDenials },
	}).Parse(source))
)

// partNames are the templates that events send, each for the element with this
// id.
var partNames = []string{"status", "rates", "keys", "denials", "rules", "document"}

func execute(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return template.HTMLEscapeString("this part cannot be shown: " + err.Error())
	}
	return b.String()
}

func writeHTML(w http.ResponseWriter, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(execute(name, data))) // the browser may have gone
}

// view is what the templates show.
type view struct {
	*Server
	*telemetry.Snapshot
	Problem        string    // of the rules, which cannot be read
	RulesVersion   int64     // in their table; 0 for a file
	Since          time.Time // when this process began to decide by the rules
	Requests       float64   // a second, as all rates
	Denied, Shadow float64
	Charts         []template.HTML // wide, and narrow for phones
	Table          []ruleRow
	Latest         []Denial
}

// ruleRow is a rule in force.
type ruleRow struct {
	Name, Mode, Key         string
	Limits                  []string
	Allowed, Denied, Shadow float64 // a second
	Spark                   template.HTML
}

// Degraded says why decisions are not exact, or not by the newest rules.
func (v *view) Degraded() []string { return degraded(v.Snapshot, v.NotReloaded()) }

func (s *Server) view() *view {
	set, err := s.Rules()
	v := &view{Server: s, Snapshot: s.Snapshot(), Latest: s.Observer.list()}
	buckets, from := s.rates.all()
	now := total(buckets[len(buckets)-1])
	v.Requests, v.Denied, v.Shadow = perSecond(now.Allowed+now.WouldDeny+now.Denied), perSecond(now.Denied), perSecond(now.WouldDeny)
	for _, width := range []int{1120, chart.Narrow} {
		v.Charts = append(v.Charts, draw(buckets, from, width))
	}
	if err != nil {
		v.Problem = err.Error()
		return v
	}
	v.RulesVersion, v.Since = set.Version, s.Observer.since(s.Now(), set)
	v.fillRules(set.Document(), buckets)
	return v
}

// fillRules lists the rules in force, in their order.
func (v *view) fillRules(doc *ruledoc.Document, buckets []*telemetry.Snapshot) {
	for i := range doc.Rules {
		r := &doc.Rules[i]
		row := ruleRow{Name: r.Name, Mode: r.Mode, Key: r.Key}
		for j := range r.Limits {
			row.Limits = append(row.Limits, text.Limit(&r.Limits[j]))
		}
		row.fill(i, r, buckets)
		v.Table = append(v.Table, row)
	}
}

func (r *ruleRow) fill(i int, rule *ruledoc.Rule, buckets []*telemetry.Snapshot) {
	series := []chart.Series{{Kind: chart.Allowed}, {Kind: chart.Shadow}, {Kind: chart.Denied}}
	for _, b := range buckets {
		c := ofRule(b, rule)
		r.Allowed, r.Shadow, r.Denied = perSecond(c.Allowed+c.WouldDeny), perSecond(c.WouldDeny), perSecond(c.Denied)
		stack(series, c)
	}
	r.Spark = template.HTML(chart.Spark(fmt.Sprint("spark", i), "what "+r.Name+" allowed, would deny and denied in the last minutes", series))
}

func draw(buckets []*telemetry.Snapshot, from time.Time, width int) template.HTML {
	t := chart.Timeline{
		Frame: chart.Frame{
			ID: fmt.Sprint("chart", width), Width: width, Title: "Requests a second",
			Desc: "For each five seconds, requests that were allowed, that shadow rules would deny, and that were denied.",
		},
		From: from, Bucket: bucketTime, Unit: "requests a second", Tips: true,
		Series: []chart.Series{{Kind: chart.Allowed, Name: "allowed"}, {Kind: chart.Shadow, Name: "allowed, would be denied"}, {Kind: chart.Denied, Name: "denied"}},
	}
	for _, b := range buckets {
		stack(t.Series, total(b))
	}
	return template.HTML(t.SVG(chart.Inline))
}

// stack adds a bucket to the series of what was allowed, would be denied, and was
// denied.
func stack(series []chart.Series, c replay.Counts) {
	for i, n := range []int64{c.Allowed, c.WouldDeny, c.Denied} {
		series[i].Values = append(series[i].Values, perSecond(n))
	}
}

func perSecond(n int64) float64 { return float64(n) / bucketTime.Seconds() }

// rate writes a rate: 0, 0.4 or 1,234.
func rate(n float64) string {
	if n > 0 && n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return text.Thousands(int64(math.Round(n)))
}
