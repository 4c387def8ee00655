package main

import (
	"fmt"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// ruleShown is a rule, for programs.
type ruleShown struct {
	Name         string               `json:"name"`
	Key          string               `json:"key"`
	Hashed       bool                 `json:"hashed,omitempty"` // tables and logs hold hashes of the keys
	Mode         string               `json:"mode"`             // enforce, shadow or off
	OnError      string               `json:"on_error"`
	Atomic       bool                 `json:"atomic"`
	Quiet        bool                 `json:"quiet,omitempty"` // clients are not told of it
	Limits       []limitShown         `json:"limits"`
	Plans        map[string]planShown `json:"plans,omitempty"`         // what they make of it, by name
	OverrideKeys string               `json:"override_keys,omitempty"` // their form; empty where it has none
	Overrides    int                  `json:"overrides,omitempty"`     // in the document
	RefundOn     []string             `json:"refund_on,omitempty"`
}

// planShown is what a plan makes of a rule: unlimited, or its capacities by the limits' names, "" for an only limit.
type planShown struct {
	Unlimited bool             `json:"unlimited,omitempty"`
	Capacity  map[string]int64 `json:"capacity,omitempty"`
}

// limitShown is a limit of a rule, for programs.
type limitShown struct {
	limitForm
	Cost      int64  `json:"cost"`                // of a request, or of one that does not say
	CostFrom  string `json:"cost_from,omitempty"` // where a request says
	CostMin   int64  `json:"cost_min,omitempty"`  // and the least that it is taken for; the most is cost
	Settle    bool   `json:"settle,omitempty"`    // the true cost is told afterwards
	Clamp     bool   `json:"clamp,omitempty"`     // a cost above the capacity takes it all
	Candidate string `json:"candidate,omitempty"` // a capacity on trial: units, or a percentage
	// AnchorFrom is where a request says on which day months begin; anchor is for those that do not.
	AnchorFrom string `json:"anchor_from,omitempty"`
}

// limitForm is a limit without what requests take from it.
type limitForm struct {
	Name        string  `json:"name"` // empty for a rule's only limit
	Algorithm   string  `json:"algorithm"`
	Capacity    int64   `json:"capacity"`
	Window      float64 `json:"window_s"`
	Granularity float64 `json:"granularity_s"`   // 0 for a bucket, which has no slots
	Burst       int64   `json:"burst,omitempty"` // what a bucket or a queue holds
	Unit        string  `json:"unit,omitempty"`  // of a calendar: day, week or month
	Timezone    string  `json:"timezone,omitempty"`
	Anchor      int     `json:"anchor,omitempty"`
}

func showRule(set *rules.Set, r *rules.Rule) ruleShown {
	shown := ruleShown{
		Name: r.Name, Key: r.Key, Hashed: r.Hashed(), Mode: r.Mode.String(), OnError: r.OnError.String(), Atomic: r.Atomic, Quiet: r.Quiet,
		OverrideKeys: set.OverrideKeys(r.Name), Overrides: set.Overrides(r.Name), RefundOn: set.Document().Rule(r.Name).RefundOn,
	}
	for i := range r.Limits {
		one := showLimit(&r.Limits[i], &r.Costs[i])
		if r.Candidates != nil {
			one.Candidate = r.Candidates[i].String()
		}
		one.AnchorFrom = anchorFrom(set, r, i)
		shown.Limits = append(shown.Limits, one)
	}
	for plan, of := range set.Document().Plans {
		if capacity, ok := of[r.Name]; ok {
			if shown.Plans == nil {
				shown.Plans = map[string]planShown{}
			}
			shown.Plans[plan] = planShown{capacity.Unlimited, capacity.Capacity}
		}
	}
	return shown
}

// anchorFrom names where a request says on which day the months of limit i begin; "" if the rule says so.
func anchorFrom(set *rules.Set, r *rules.Rule, i int) string {
	if anchor := set.Document().Rule(r.Name).Limits[i].Anchor; anchor != nil {
		return anchor.From
	}
	return ""
}

func showLimit(l *limit.Limit, cost *rules.Cost) limitShown {
	shown := limitShown{limitForm: formOf(l), Cost: cost.Units, Settle: cost.Settle, Clamp: cost.Clamp}
	if source, least, most, ok := cost.Stated(); ok {
		shown.CostFrom, shown.CostMin, shown.Cost = source, least, most
	}
	return shown
}

func formOf(l *limit.Limit) limitForm {
	f := limitForm{
		Name: l.Name, Algorithm: l.Algorithm.String(), Capacity: l.Capacity, Window: l.Window.Seconds(),
		Granularity: l.Granularity.Seconds(), Burst: l.Burst,
	}
	if l.Calendar != nil {
		f.Unit = []string{limit.Day: "day", limit.Week: "week", limit.Month: "month"}[l.Calendar.Unit]
		f.Timezone, f.Anchor = l.Calendar.Location.String(), l.Calendar.Anchor
	}
	return f
}

// costs says what a request costs, where that is not one unit.
func (s *limitShown) costs() string {
	text := ""
	switch {
	case s.CostFrom != "":
		text = fmt.Sprintf("%s, %s to %s", s.CostFrom, thousands(s.CostMin), thousands(s.Cost))
	case s.Cost != 1:
		text = thousands(s.Cost)
	case s.Settle:
		text = "1"
	}
	if s.Settle {
		text += ", settled afterwards"
	}
	return text
}

// spellWindow is a limit's window as rules have it: 1mo from day 15, Europe/Berlin.
func spellWindow(l *limit.Limit) string {
	f := formOf(l)
	return f.window()
}

// spellDetail is the width of a limit's slots, or what takes their place.
func spellDetail(l *limit.Limit) string {
	switch l.Algorithm {
	case limit.SlidingWindowLog:
		return "exact"
	case limit.TokenBucket:
		return "burst " + thousands(l.Burst)
	case limit.LeakyBucket:
		return "queue " + thousands(l.Burst)
	}
	if l.Calendar != nil {
		return "calendar"
	}
	return spell(l.Granularity)
}

// brief is the limit in a few words: "requests 10 per 1m".
func (s *limitForm) brief() string {
	text := fmt.Sprintf("%s per %s", thousands(s.Capacity), s.window())
	if s.Name != "" {
		text = s.Name + " " + text
	}
	return text
}

func (s *limitForm) window() string {
	if s.Unit == "" {
		return spell(ofSeconds(s.Window))
	}
	window := map[string]string{"day": "1d", "week": "1w", "month": "1mo"}[s.Unit]
	if s.Anchor > 1 {
		window += fmt.Sprintf(" from day %d", s.Anchor)
	}
	return window + ", " + s.Timezone
}

// ofSeconds is the duration of so many seconds, to the nanosecond.
func ofSeconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
