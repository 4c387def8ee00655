package main

import (
	"fmt"
	"io"
	"time"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

// replayObject is what replay --json prints.
type replayObject struct {
	Requests   int64                    `json:"requests"` // read and judged
	Allowed    int64                    `json:"allowed"`
	Denied     int64                    `json:"denied"`
	Exempt     int64                    `json:"exempt"`     // allowed requests from which skip, a plan or an override lifts all limits
	Banned     int64                    `json:"banned"`     // denied ones that deny or an override shuts out
	Ambiguous  int64                    `json:"ambiguous"`  // denied ones whose path servers may read in several ways
	WouldDeny  int64                    `json:"would_deny"` // allowed ones that a rule on trial would have denied
	Skipped    int64                    `json:"skipped"`    // lines that could not be read
	Degraded   int64                    `json:"degraded"`   // requests that on_error decided
	Delayed    int64                    `json:"delayed"`    // allowed requests that a leaky bucket would hold back a while
	Rules      map[string]ruleTold      `json:"rules"`
	Candidates map[string]candidateTold `json:"candidates,omitempty"` // by "rule" or "rule.limit"
	TopDenied  []keyTold                `json:"top_denied"`
	Elapsed    float64                  `json:"elapsed_s"`
	Reads      *int64                   `json:"reads,omitempty"` // of DynamoDB
	Writes     *int64                   `json:"writes,omitempty"`
}

type ruleTold struct {
	Allowed   int64  `json:"allowed"`
	Denied    int64  `json:"denied"`
	Mode      string `json:"mode,omitempty"`       // but for enforce
	WouldDeny *int64 `json:"would_deny,omitempty"` // of a rule on trial
}

// candidateTold is what a capacity on trial would have changed.
type candidateTold struct {
	WouldDeny  int64 `json:"would_deny"`
	WouldAllow int64 `json:"would_allow"`
}

type keyTold struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Denied int64  `json:"denied"`
}

func (r *replayed) object() replayObject {
	o := replayObject{
		Requests: r.Requests, Allowed: r.Allowed, Denied: r.Denied, Exempt: r.Exempt, Banned: r.Banned, Ambiguous: r.Ambiguous, WouldDeny: r.WouldDeny,
		Skipped: r.Skipped, Degraded: r.Degraded, Delayed: r.Delayed,
		Rules: map[string]ruleTold{}, Candidates: map[string]candidateTold{}, TopDenied: []keyTold{}, Elapsed: r.Elapsed.Seconds(),
	}
	for _, rule := range r.Rules {
		told := ruleTold{Allowed: rule.Allowed, Denied: rule.Denied}
		if rule.Mode != rules.Enforce {
			told.Mode = rule.Mode.String()
		}
		if rule.Mode == rules.Shadow {
			told.WouldDeny = &rule.WouldDeny
		}
		o.Rules[rule.Rule] = told
	}
	for _, candidate := range r.Candidates {
		o.Candidates[candidate.Limit] = candidateTold{candidate.WouldDeny, candidate.WouldAllow}
	}
	for _, k := range r.TopDenied {
		o.TopDenied = append(o.TopDenied, keyTold(k))
	}
	if r.calls != nil {
		reads, writes := r.calls()
		o.Reads, o.Writes = &reads, &writes
	}
	return o
}

// print prints the report for people.
func (r *replayed) print(w io.Writer, paint colours) error {
	total := [][]string{
		{"requests", thousands(r.Requests), "", r.span()},
		{"allowed", thousands(r.Allowed), percent(r.Allowed, r.Requests), paint.green(bar(r.Allowed, r.Requests))},
		{"denied", thousands(r.Denied), percent(r.Denied, r.Requests), paint.red(bar(r.Denied, r.Requests))},
	}
	for _, row := range []struct {
		name    string
		n       int64
		meaning string
	}{
		{"exempt", r.Exempt, "allowed: skip, a plan or an override lifts all limits"},
		{"banned", r.Banned, "denied by deny or an override, whatever the limits say"},
		{"ambiguous", r.Ambiguous, "denied by ambiguous_paths: servers may read their path in several ways"},
		{"would deny", r.WouldDeny, "allowed: a rule on trial would have denied them"},
		{"delayed", r.Delayed, "allowed after a wait for their turn"},
		{"degraded", r.Degraded, "decided by on_error: the store failed"},
	} {
		if row.n > 0 {
			total = append(total, []string{row.name, thousands(row.n), percent(row.n, r.Requests), row.meaning})
		}
	}
	if r.Skipped > 0 {
		total = append(total, []string{"skipped", thousands(r.Skipped), "", "lines that could not be read"})
	}
	p := printer{w: w}
	p.table("lrrl", total)
	p.section("lrrrl", []string{"rule", "allowed", "denied", "", ""}, r.ruleRows(paint, rules.Enforce))
	p.section("lrrrl", []string{"rule on trial", "would allow", "would deny", "", ""}, r.ruleRows(paint, rules.Shadow))
	p.section("lrrl", []string{"capacity on trial", "would deny", "would allow", ""}, r.candidateRows())
	p.section("rll", []string{"denied", "rule", "key"}, keyRows(r.TopDenied))
	if r.calls != nil {
		reads, writes := r.calls()
		p.line("")
		p.line("DynamoDB: %s, %s (%s and %s per request)", plural(int(writes), "write"), plural(int(reads), "read"),
			per(writes, r.Requests), per(reads, r.Requests))
	}
	return p.err
}

// span says how long the log is by its own clock, and how long that took.
func (r *replayed) span() string {
	return fmt.Sprintf("%s of traffic in %s", brief(r.Last.Sub(r.First)), brief(r.Elapsed))
}

func (r *replayed) ruleRows(paint colours, mode rules.Mode) (rows [][]string) {
	for _, rule := range r.Rules {
		if rule.Mode != mode {
			continue
		}
		denied := rule.Denied + rule.WouldDeny // one of them is 0
		all := rule.Allowed + denied
		rows = append(rows, []string{
			rule.Rule, thousands(rule.Allowed), thousands(denied), percent(denied, all), paint.red(bar(denied, all)),
		})
	}
	return rows
}

func (r *replayed) candidateRows() (rows [][]string) {
	for _, c := range r.Candidates {
		rows = append(rows, []string{c.Limit, thousands(c.WouldDeny), thousands(c.WouldAllow), ""})
	}
	return rows
}

func keyRows(keys []replay.KeyTotal) (rows [][]string) {
	for _, k := range keys {
		rows = append(rows, []string{thousands(k.Denied), k.Rule, k.Key})
	}
	return rows
}

func per(n, all int64) string {
	if all == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3f", float64(n)/float64(all))
}

// brief spells a duration to about three digits: 3d 21h, 5m 4s, 1.24s, 80ms.
func brief(d time.Duration) string {
	switch day := 24 * time.Hour; {
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
