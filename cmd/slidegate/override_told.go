package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// overrideTold is what one key's override says, for people and programs.
type overrideTold struct {
	From      string           `json:"from"` // "table", set by command, or "rules", written in the document
	InForce   bool             `json:"in_force"`
	Deny      bool             `json:"deny,omitempty"`
	Unlimited bool             `json:"unlimited,omitempty"`
	Plan      string           `json:"plan,omitempty"`
	Capacity  map[string]int64 `json:"capacity,omitempty"` // by the limit's name, "" for a rule's only limit
	Limits    []limitForm      `json:"limits,omitempty"`
	Until     *time.Time       `json:"until,omitempty"`
	Why       string           `json:"why,omitempty"`
	Who       string           `json:"who,omitempty"`
	When      *time.Time       `json:"when,omitempty"`
	Grants    []grantTold      `json:"grants,omitempty"`
}

type grantTold struct {
	Limit string     `json:"limit"` // empty for a rule's only limit
	Add   int64      `json:"add"`
	Until time.Time  `json:"until"`
	Left  float64    `json:"left_s"` // 0 if it has ended
	Why   string     `json:"why,omitempty"`
	Who   string     `json:"who,omitempty"`
	When  *time.Time `json:"when,omitempty"`
}

const (
	fromTable = "table"
	fromRules = "rules"
)

// note takes in who set it.
func (t *overrideTold) note(n *ruletable.Note) { t.Who, t.When, t.Why = n.Who, some(n.When), n.Why }

// say takes in what it says. A reason of its own comes before that of whoever set it, who may have set many.
func (t *overrideTold) say(o *rules.Override, now time.Time) {
	t.InForce = o.InForce(now)
	t.Deny, t.Unlimited, t.Plan, t.Capacity = o.Deny, o.Unlimited, o.Plan, o.Capacity
	t.Until, t.Why = some(o.Until), cmp.Or(o.Why, t.Why)
	for i := range o.Limits {
		t.Limits = append(t.Limits, formOf(&o.Limits[i]))
	}
}

func (t *overrideTold) grant(grants []ruletable.Grant, now time.Time) {
	for _, g := range grants {
		t.Grants = append(t.Grants, grantTold{
			Limit: g.Limit, Add: g.Add, Until: g.Until, Left: max(0, g.Until.Sub(now).Seconds()), Why: g.Why, Who: g.Who, When: some(g.When),
		})
	}
}

// some returns a pointer to a time, nil for none.
func some(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// says puts what is said into a few words; empty where there are grants alone.
func (t *overrideTold) says() string {
	switch {
	case t.Deny:
		return "deny"
	case t.Unlimited:
		return "unlimited"
	case t.Plan != "":
		return "plan " + t.Plan
	case t.Limits != nil:
		var limits []string
		for i := range t.Limits {
			limits = append(limits, t.Limits[i].brief())
		}
		return "limits " + strings.Join(limits, ", ")
	}
	var capacities []string
	for _, name := range slices.Sorted(maps.Keys(t.Capacity)) {
		capacities = append(capacities, strings.TrimSpace(name+" "+thousands(t.Capacity[name])))
	}
	if capacities == nil {
		return ""
	}
	return "capacity " + strings.Join(capacities, ", ")
}

// lines spells the override out: what it says, then each grant.
func (t *overrideTold) lines() (lines []string) {
	if says := t.says(); says != "" {
		if t.Until != nil {
			says += ending(*t.Until, t.InForce)
		}
		lines = append(lines, says+because(t.Why)+by(t.Who, t.When, t.From))
	}
	for _, g := range t.Grants {
		text := fmt.Sprintf("+%s", thousands(g.Add))
		if g.Limit != "" {
			text += " " + g.Limit
		}
		lines = append(lines, text+ending(g.Until, g.Left > 0)+because(g.Why)+by(g.Who, g.When, ""))
	}
	return lines
}

func ending(until time.Time, goesOn bool) string {
	if goesOn {
		return " until " + stamp(until)
	}
	return ", ended " + stamp(until)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + plainText(why)
}

// by says who said something, and when or where.
func by(who string, when *time.Time, from string) string {
	switch {
	case when != nil && who != "":
		return fmt.Sprintf(" (%s, %s)", plainText(who), stamp(*when))
	case from == fromRules:
		return " (in the rules)"
	}
	return ""
}

// stamp writes a moment as people read and type it, to the second.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
