package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// OverrideReport describes the override of one key.
type OverrideReport struct {
	From      string           `json:"from"` // "table", set by command, or "rules", written in the document
	InForce   bool             `json:"in_force"`
	Deny      bool             `json:"deny,omitempty"`
	Unlimited bool             `json:"unlimited,omitempty"`
	Plan      string           `json:"plan,omitempty"`
	Capacity  map[string]int64 `json:"capacity,omitempty"` // by the limit's name, "" for a rule's only limit
	Limits    []LimitForm      `json:"limits,omitempty"`
	Until     time.Time        `json:"until,omitzero"`
	Why       string           `json:"why,omitempty"`
	Who       string           `json:"who,omitempty"`
	When      time.Time        `json:"when,omitzero"`
	Grants    []GrantReport    `json:"grants,omitempty"`
}

// GrantReport describes a grant.
type GrantReport struct {
	Limit string    `json:"limit"` // empty for a rule's only limit
	Add   int64     `json:"add"`
	Until time.Time `json:"until"`
	Left  float64   `json:"left_s"` // 0 if it has ended
	Why   string    `json:"why,omitempty"`
	Who   string    `json:"who,omitempty"`
	When  time.Time `json:"when,omitzero"`
}

const (
	fromTable = "table"
	fromRules = "rules"
)

// ReportOverride describes an override with its grants. note belongs to an
// override in the table, and is nil for one in the document. The override's own
// reason has precedence over its author's, who may have set many at once.
func ReportOverride(o *rules.Override, note *ruletable.Note, grants []ruletable.Grant, now time.Time) *OverrideReport {
	r := &OverrideReport{
		From: fromRules, InForce: o.InForce(now), Deny: o.Deny, Unlimited: o.Unlimited, Plan: o.Plan, Capacity: o.Capacity,
		Until: o.Until, Why: o.Why,
	}
	if note != nil {
		r.From, r.Who, r.When, r.Why = fromTable, note.Who, note.When, cmp.Or(o.Why, note.Why)
	}
	for i := range o.Limits {
		r.Limits = append(r.Limits, FormOf(&o.Limits[i]))
	}
	for _, g := range grants {
		r.Grants = append(r.Grants, GrantReport{
			Limit: g.Limit, Add: g.Add, Until: g.Until, Left: max(0, g.Until.Sub(now).Seconds()), Why: g.Why, Who: g.Who, When: g.When,
		})
	}
	return r
}

// Lines describes an override: its terms, then each grant; none for nil.
func (r *OverrideReport) Lines() (lines []string) {
	if r == nil {
		return nil
	}
	if says := r.Summary(); says != "" {
		if !r.Until.IsZero() {
			says += Ending(r.Until, r.InForce)
		}
		lines = append(lines, says+Because(r.Why)+Author(r.Who, r.When, r.From == fromRules))
	}
	for _, g := range r.Grants {
		line := "+" + text.Thousands(g.Add)
		if g.Limit != "" {
			line += " " + g.Limit
		}
		lines = append(lines, line+Ending(g.Until, g.Left > 0)+Because(g.Why)+Author(g.Who, g.When, false))
	}
	return lines
}

// Summary describes the override in a few words; it is empty for grants alone.
func (r *OverrideReport) Summary() string {
	switch {
	case r.Deny:
		return "deny"
	case r.Unlimited:
		return "unlimited"
	case r.Plan != "":
		return "plan " + r.Plan
	case r.Limits != nil:
		var limits []string
		for i := range r.Limits {
			l := &r.Limits[i]
			limits = append(limits, strings.TrimSpace(fmt.Sprintf("%s %s per %s", l.Name, text.Thousands(l.Capacity), l.WindowText())))
		}
		return "limits " + strings.Join(limits, ", ")
	}
	var capacities []string
	for _, name := range slices.Sorted(maps.Keys(r.Capacity)) {
		capacities = append(capacities, strings.TrimSpace(name+" "+text.Thousands(r.Capacity[name])))
	}
	if capacities == nil {
		return ""
	}
	return "capacity " + strings.Join(capacities, ", ")
}

// HasEnded reports whether the override and all its grants have ended.
func (r *OverrideReport) HasEnded() bool {
	return !r.InForce && !slices.ContainsFunc(r.Grants, func(g GrantReport) bool { return g.Left > 0 })
}

// Because adds the reason of an override to a message; nothing for none.
func Because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + text.Printable(why)
}

// Ending says until when something is in force, or when it ended.
func Ending(until time.Time, inForce bool) string {
	if inForce {
		return " until " + text.Stamp(until)
	}
	return ", ended " + text.Stamp(until)
}

// Author says who set something, and when or where.
func Author(who string, when time.Time, inRules bool) string {
	switch {
	case !when.IsZero() && who != "":
		return fmt.Sprintf(" (%s, %s)", text.Printable(who), text.Stamp(when))
	case inRules:
		return " (in the rules)"
	}
	return ""
}
