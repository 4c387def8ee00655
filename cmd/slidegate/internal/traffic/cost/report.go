package cost

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

// Report is a month's bill, what a flood would add, and what would cost less.
type Report struct {
	Prices     *Prices    `json:"prices"`
	Month      *Bill      `json:"month"`
	PerMillion float64    `json:"per_million"` // dollars for a million requests, without the fixed sum
	Flood      *FloodBill `json:"flood,omitempty"`
	Savings    []Saving   `json:"savings"` // the largest first
	Assumed    Assumed    `json:"assumed"`
}

// FloodBill is the bill of a month with so many times the requests.
type FloodBill struct {
	Times float64 `json:"times"`
	Bill
	Hour float64 `json:"hour"` // what an hour of the flood adds, in dollars
}

// Saving is a cheaper setting.
type Saving struct {
	Setting string  `json:"setting"`
	Rule    string  `json:"rule,omitempty"`
	Dollars float64 `json:"dollars"` // a month
	AtMost  bool    `json:"at_most,omitempty"`
	Remark  string  `json:"remark"` // what it takes away
}

// Assumed is what a bill takes for granted.
type Assumed struct {
	Memory         int     `json:"memory_mb"`
	Duration       float64 `json:"allowed_s"` // in the Lambda
	DenialDuration float64 `json:"denied_s"`
	Environment    float64 `json:"requests_per_environment_s"`
	DenialReads    float64 `json:"reads_per_denial"`
	FloodReads     float64 `json:"reads_per_flood_denial"`
	FloodWrites    float64 `json:"writes_per_flood_denial"`
}

// NewReport computes a report.
func NewReport(o *Options, t *Traffic) *Report {
	r := &Report{Prices: o.Prices, Month: bill(o, t), Savings: []Saving{}, Assumed: Assumed{
		Memory: predeploy.MemoryMB, Duration: cmp.Or(o.Duration, standardDuration).Seconds(), DenialDuration: denialDuration.Seconds(),
		Environment: perEnvironment, DenialReads: denialReads, FloodReads: floodReads, FloodWrites: floodWrites,
	}}
	r.PerMillion = r.Month.PerMillion()
	if o.Flood > 0 {
		flooded := bill(o, t.Flood(o.Flood))
		r.Flood = &FloodBill{o.Flood, *flooded, rounded((flooded.Total - r.Month.Total) / Month.Hours())}
	}
	r.save(o, t)
	return r
}

// save adds the cheaper settings that are worth a cent.
func (r *Report) save(o *Options, t *Traffic) {
	own := float64(len(watch.Alarms(watch.Settings{})) - len(watch.Alarms(watch.Settings{WithoutMetrics: true})))
	all := []Saving{
		{"WithoutDashboard", "", r.Month.dollars(dashboardItem), false, "no dashboard"},
		{"WithoutAlarms", "", r.Month.dollars(alarmsItem), false, "nothing calls you"},
		{"WithoutMetrics", "", r.Month.dollars(metricsItem) + r.Month.dollars(logItem) + r.Month.dollars(dashboardItem) + own*o.Prices.Alarm, false,
			"no dashboard, and alarms of AWS's own metrics alone"},
	}
	if !o.HTTP {
		cheaper := *o
		cheaper.HTTP = true
		all = append(all, Saving{"an HTTP API", "", r.Month.Total - bill(&cheaper, t).Total, false, "denied requests get 403, unless the backend answers them"})
	}
	for _, s := range slices.Concat(all, ruleSavings(o.Prices, t.Rules)) {
		if s.Dollars = rounded(s.Dollars); s.Dollars >= 0.01 {
			r.Savings = append(r.Savings, s)
		}
	}
	slices.SortStableFunc(r.Savings, func(a, b Saving) int { return cmp.Compare(b.Dollars, a.Dollars) })
}

func (b *Bill) line(item string) *Line {
	return &b.Lines[slices.IndexFunc(b.Lines, func(l Line) bool { return l.Item == item })]
}

func (b *Bill) dollars(item string) float64 { return b.line(item).Dollars }

// Quantity returns how much there is of an item of the bill.
func (b *Bill) Quantity(item string) float64 { return b.line(item).Quantity }

// ruleSavings returns the settings of rules that take fewer write units.
func ruleSavings(p *Prices, rules []Charges) (all []Saving) {
	for i := range rules {
		c := &rules[i]
		if c.rule == nil {
			continue
		}
		save := func(setting string, units float64, atMost bool, remark string) {
			all = append(all, Saving{setting, c.Rule, c.Charges * units / 1e6 * p.Writes, atMost, remark})
		}
		single := Units(c.rule.Limits)
		if c.Units > single {
			save("no atomic", float64(c.Units-single), false, "a request that a later rule denies is charged, and refunded")
		}
		if single > 1 {
			save("fewer slots or limits", float64(single-1), true, fmt.Sprintf("a wider granularity leaves less of the capacity usable; the counter takes up to %d KB now", single))
		}
		if c.leases() {
			save("lease: 100", float64(c.Units)*0.99, true, "only keys that one process charges many times a second save that much")
		}
		for j := range rules[:i] {
			if other := &rules[j]; c.merges(other) {
				joint := Units(slices.Concat(other.rule.Limits, c.rule.Limits))
				save("one rule with the limits of "+other.Rule, float64(Units(other.rule.Limits)+single-joint), false, "their counters begin anew")
				break
			}
		}
	}
	return all
}
