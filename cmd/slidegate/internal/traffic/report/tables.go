package report

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/chart"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

// topKeys is how many keys a page lists, each cut to longestKey characters.
const topKeys, longestKey = 1000, 200

type scenarioView struct {
	Index        int
	Name         string
	Label        template.HTML // the name, which may break after an underscore
	Own          bool
	Wide, Narrow template.HTML
	Requests     string
	Allowed      string // with those that would be denied
	Denied       string
	WouldDeny    string // empty for none in any scenario
	Share        string // of the requests: denied, or would be
	Answered     string // of these, with 2xx
	Keys         string // denied at least once, or would be
	Writes       string // a month, in DynamoDB's write units; empty if not known
}

// scenarios has the scenarios in order: half the limits, as they are, twice,
// and the other algorithms. One whose counters did not fit into memory is left
// out.
func (v *view) scenarios(totals *replay.Report, r *Recording) {
	all := slices.Clone(r.Others)
	all = slices.Insert(all, min(1, len(all)), &r.Own)
	would := false
	for _, s := range all {
		would = would || s.Totals.WouldDeny > 0
	}
	for _, s := range all {
		if s != &r.Own && s.Degraded > 0 {
			v.Left = append(v.Left, Variant{Name: s.Name, Why: "its counters did not fit into memory"})
			continue
		}
		i := len(v.Scenarios)
		if s == &r.Own {
			v.Start = i
		}
		title, requests, hits := "Requests over time with "+s.Name, s.Totals.Allowed+s.Totals.WouldDeny+s.Totals.Denied, s.Totals.Denied+s.Totals.WouldDeny
		shown := scenarioView{
			Index: i, Name: s.Name, Label: template.HTML(strings.ReplaceAll(html.EscapeString(s.Name), "_", "_<wbr>")), Own: s == &r.Own, Requests: text.Thousands(requests), Allowed: text.Thousands(s.Totals.Allowed + s.Totals.WouldDeny),
			Denied: text.Thousands(s.Totals.Denied), Share: text.Percent(hits, requests), Answered: text.Percent(s.Hits.Answered, s.Hits.Known), Keys: text.Thousands(len(s.denied)),
			Wide:   template.HTML(timeline(fmt.Sprintf("w%d", i), title, &s.OverTime, false).SVG(chart.Inline)),
			Narrow: template.HTML(timeline(fmt.Sprintf("n%d", i), title, &s.OverTime, true).SVG(chart.Inline)),
		}
		if would {
			shown.WouldDeny = text.Thousands(s.Totals.WouldDeny)
		}
		if b := billOf(totals, s); b != nil {
			shown.Writes = text.Thousands(int64(b.Writes))
		}
		v.Scenarios = append(v.Scenarios, shown)
	}
}

type ruleView struct {
	Name, Limits                   string
	Shadow                         bool
	Allowed, Denied, Share, Answer string
	Keys                           string
	Spark                          template.HTML
	Uncovered                      bool
}

func (v *view) rules(r *Recording) {
	limits := map[string]string{}
	for _, rule := range r.Set.Document().Rules {
		var all []string
		for i := range rule.Limits {
			all = append(all, text.Limit(&rule.Limits[i]))
		}
		limits[rule.Name] = strings.Join(all, "; ")
	}
	for i, total := range v.Totals.Rules {
		denied := total.Denied + total.WouldDeny // one of them is 0
		shown := ruleView{
			Name: total.Rule, Shadow: total.Mode == rules.Shadow, Allowed: text.Thousands(total.Allowed), Denied: text.Thousands(denied),
			Share: text.Percent(denied, total.Allowed+denied), Uncovered: !total.Covered, Keys: "0",
		}
		shown.Limits, v.Shadows = limits[total.Rule], v.Shadows || shown.Shadow
		if of := r.rules[total.Rule]; of != nil {
			shown.Answer, shown.Keys = text.Percent(of.hits.Answered, of.hits.Known), text.Thousands(of.keys)
			t := timeline(fmt.Sprintf("r%d", i), "Rule "+total.Rule+" over time", &of.over, true)
			shown.Spark = template.HTML(chart.Spark(t.ID, t.Title, t.Series))
		}
		v.Rules = append(v.Rules, shown)
	}
}

type keyView struct {
	Rule, Key        string
	Shadow           bool
	Requests, Denied string
	Peak, Limit      string // empty if not known
	When             string // of the peak
	Bar              template.HTML
}

// keys lists the keys that were denied most, then those with the most requests.
func (v *view) keys(r *Recording) {
	ids := make([]id, 0, len(r.keys))
	for i := range r.keys {
		ids = append(ids, i)
	}
	refused := func(i id) int64 { c := r.keys[i].counts; return c.Denied + c.WouldDeny }
	slices.SortFunc(ids, func(a, b id) int {
		return cmp.Or(cmp.Compare(refused(b), refused(a)), cmp.Compare(r.keys[b].counts.Allowed, r.keys[a].counts.Allowed),
			cmp.Compare(a.rule, b.rule), cmp.Compare(a.key, b.key))
	})
	if r.unkept > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("The page keeps the first %s: %s of others count as the rules decided them, in the totals alone, and other limits were not tried on them.",
			text.Plural(r.MaxKeys, "key"), text.Plural(r.unkept, "request")))
	}
	if len(ids) > topKeys {
		v.ShownKeys, v.AllKeys = text.Thousands(topKeys), text.Thousands(len(ids))
	}
	for n, i := range ids[:min(topKeys, len(ids))] {
		k, of := r.keys[i], r.rules[i.rule]
		shown := keyView{
			Rule: i.rule, Key: text.Cut(text.Key(i.key), longestKey), Shadow: of.Mode == rules.Shadow, Denied: text.Thousands(refused(i)),
			Requests: text.Thousands(k.counts.Allowed + k.counts.WouldDeny + k.counts.Denied),
		}
		if peak, at, of := k.tightest(); of > 0 {
			above := chart.Denied
			if shown.Shadow {
				above = chart.Shadow
			}
			shown.Peak, shown.Limit, shown.When = text.Thousands(peak), text.Thousands(of), text.Stamp(at)
			shown.Bar = template.HTML(chart.Bar("k"+strconv.Itoa(n), shown.Peak+" of "+shown.Limit, float64(peak), float64(of), above))
			v.Peaks = true
			v.AtLimit = v.AtLimit || peak <= of && refused(i) > 0
		}
		v.Keys = append(v.Keys, shown)
	}
}

// tightest returns the peak that is nearest to its limit, when it was, and that
// limit; 0 for none.
func (k *key) tightest() (peak int64, at time.Time, of int64) {
	for i, capacity := range k.capacity {
		n, when := k.peaks.Peak(i)
		if capacity > 0 && (of == 0 || float64(n)/float64(capacity) > float64(peak)/float64(of)) {
			peak, at, of = n, when, capacity
		}
	}
	return peak, at, of
}

func (v *view) bill(totals *replay.Report, r *Recording) {
	if v.Bill = billOf(totals, &r.Own); v.Bill != nil {
		times := cost.Month.Seconds() / totals.Span().Seconds()
		v.BillOf = fmt.Sprintf("The log spans %s, so its requests count %s times for a month.", text.Brief(totals.Span()), text.Amount(times))
	}
}

// billOf returns the bill of a month of such traffic; nil if its writes were not
// counted, or the log is shorter than a minute.
func billOf(totals *replay.Report, s *Scenario) *cost.Bill {
	span := totals.Span()
	if s.Writes == nil || span < time.Minute {
		return nil
	}
	times := cost.Month.Seconds() / span.Seconds()
	traffic := s.Writes.Traffic(float64(totals.Requests)*times, float64(s.Totals.Denied)*times, times)
	return cost.NewBill(cost.Standard(), false, traffic)
}

// notes says what the log lacks, which readers must know before they believe the
// rest.
func notes(t *replay.Report, r *Recording) (all []string) {
	add := func(when bool, format string, args ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(t.Requests == 0, "The log has no requests.")
	if t.Skipped > 0 {
		first := ""
		if t.FirstSkipped != nil {
			first = fmt.Sprintf(" The first: %s.", text.Printable(t.FirstSkipped.Error()))
		}
		add(true, "%s could not be read, and are not in the numbers.%s", text.Plural(t.Skipped, "line"), first)
	}
	add(t.Late > 0, "%s came too late to be sorted, and were decided after later ones.", text.Plural(t.Late, "request"))
	add(t.Order == logs.AsLogged && t.OutOfOrder > 0, "%s are earlier than the line before, and were left in that order.", text.Plural(t.OutOfOrder, "request"))
	add(t.NoMethod > 0, "%s have no method in the log. Only rules without methods cover them.", text.Plural(t.NoMethod, "request"))
	add(t.NoAddress > 0, "In %s a proxy's entry for its client is no address, so the address of the proxy counts. The first: %s.", text.Plural(t.NoAddress, "request"), text.Printable(t.FirstEntry))
	if t.Requests == 0 {
		return all
	}
	add(t.Statuses == 0, "The log has no statuses, so the page cannot show which denied requests had succeeded.")
	add(t.Statuses > 0 && t.Statuses < t.Requests, "%s of %s have no status. Shares of answers count the others.",
		text.Thousands(t.Requests-t.Statuses), text.Plural(t.Requests, "request"))
	switch span := t.Span(); {
	case span < 24*time.Hour:
		add(true, "The log spans %s. The busiest hour of a day may not be in it.", text.Brief(span))
	case span < 7*24*time.Hour:
		add(true, "The log spans %s, less than a week. Other days may be busier.", text.Brief(span))
	}
	add(t.Span() < time.Minute, "A bill needs a log of at least a minute.")
	for _, rule := range t.Rules {
		for _, l := range rule.Lacking {
			add(true, "Rule %s: %s of its requests lack %s of its %s.", rule.Rule, text.Percent(l.Requests, rule.Allowed+rule.Denied+rule.WouldDeny), l.Field, l.Use)
		}
		add(!rule.Covered, "Rule %s matched no request: `slidegate explain METHOD PATH` says why.", rule.Rule)
		if of := r.rules[rule.Rule]; of != nil {
			add(len(of.windows) < len(of.Limits), "Rule %s charges by cost. Peaks count requests, so that limit has none.", rule.Rule)
		}
	}
	add(t.Degraded > 0, "%s were decided by on_error, because the store failed.", text.Plural(t.Degraded, "request"))
	return all
}
