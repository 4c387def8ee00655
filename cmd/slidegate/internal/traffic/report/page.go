package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/chart"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
)

//go:embed page.html
var layout string

//go:embed page.css
var style string

//go:embed page.js
var script string

var page = template.Must(template.New("page").Parse(layout))

// Source names the logs and rules of a page.
type Source struct {
	Logs    []string
	Rules   string // where they are
	Version string // of Slidegate
}

// view is what the template shows. Its texts come from logs and rules; only the
// charts, which escape their own, the style and the script are HTML.
type view struct {
	Source
	Policy    string
	Style     template.CSS
	Script    template.JS
	Totals    *replay.Report
	Extent    string
	Notes     []string
	Scenarios []scenarioView
	Start     int // of Scenarios
	Left      []Variant
	Rules     []ruleView
	Shadows   bool // any of Rules is a shadow rule
	Keys      []keyView
	ShownKeys string // of AllKeys
	AllKeys   string // how many there are; empty if all are shown
	Peaks     bool   // of any key
	AtLimit   bool   // a denied key has a peak within its limit
	Bill      *cost.Bill
	BillOf    string
}

// Write writes the page of a replay. The recording is the one that its Options
// filled in.
func Write(w io.Writer, from Source, totals *replay.Report, r *Recording) error {
	sheet := chart.Style() + style
	v := view{
		Source: from, Style: template.CSS(sheet), Script: template.JS(script), Totals: totals, Notes: notes(totals, r),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", chart.Hash(sheet), chart.Hash(script)),
		Extent: extent(totals), Left: r.Left,
	}
	v.scenarios(totals, r)
	v.rules(r)
	v.keys(r)
	v.bill(totals, r)
	return page.Execute(w, &v)
}

// timeline is the chart of what rules decide over time.
func timeline(id, title string, o *replay.OverTime, narrow bool) *chart.Timeline {
	n := len(o.Buckets())
	allowed, would, denied := make([]float64, n), make([]float64, n), make([]float64, n)
	var sum replay.Counts
	for i, c := range o.Buckets() {
		allowed[i], would[i], denied[i] = float64(c.Allowed), float64(c.WouldDeny), float64(c.Denied)
		sum.Allowed, sum.WouldDeny, sum.Denied = sum.Allowed+c.Allowed, sum.WouldDeny+c.WouldDeny, sum.Denied+c.Denied
	}
	t := &chart.Timeline{
		Frame: chart.Frame{ID: id, Title: title, Desc: describe(sum), Width: chart.Wide},
		From:  o.From(), Bucket: o.Bucket(), Unit: "requests per " + text.Duration(o.Bucket()), Tips: !narrow,
		Series: []chart.Series{{Kind: chart.Allowed, Name: "allowed", Values: allowed}},
	}
	if sum.WouldDeny > 0 {
		t.Series = append(t.Series, chart.Series{Kind: chart.Shadow, Name: "would be denied", Values: would})
	}
	t.Series = append(t.Series, chart.Series{Kind: chart.Denied, Name: "denied", Values: denied})
	if narrow {
		t.Width = chart.Narrow
	}
	return t
}

// describe writes one sentence for counts.
func describe(c replay.Counts) string {
	s := text.Plural(c.Allowed+c.WouldDeny, "request") + " allowed"
	if c.WouldDeny > 0 {
		s += ", of which a shadow rule or a candidate would have denied " + text.Thousands(c.WouldDeny)
	}
	return s + ", " + text.Thousands(c.Denied) + " denied."
}

// extent writes the first and the last time of a log.
func extent(totals *replay.Report) string {
	if totals.Requests == 0 {
		return "no requests"
	}
	const layout = "2006-01-02 15:04:05"
	return totals.First.UTC().Format(layout) + " – " + totals.Last.UTC().Format(layout) + " UTC (" + text.Brief(totals.Span()) + ")"
}

// Count writes a number of requests or calls.
func (v *view) Count(n int64) string { return text.Thousands(n) }

// Amount writes a quantity of a bill.
func (v *view) Amount(n float64) string { return text.Amount(n) }

// Names joins the names of logs.
func (s Source) Names() string { return text.Printable(strings.Join(s.Logs, ", ")) }
