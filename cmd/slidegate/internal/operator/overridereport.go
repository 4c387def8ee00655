package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
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

// reportOverride describes an override with its grants. note belongs to an
// override in the table, and is nil for one in the document. The override's own
// reason has precedence over its author's, who may have set many at once.
func reportOverride(o *rules.Override, note *ruletable.Note, grants []ruletable.Grant, now time.Time) *OverrideReport {
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
	if says := r.summary(); says != "" {
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

// summary describes the override in a few words; it is empty for grants alone.
func (r *OverrideReport) summary() string {
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

// ended reports whether the override and all its grants have ended.
func (r *OverrideReport) ended() bool {
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

// ListedOverride is one override of a list. An import takes its key and its
// document.
type ListedOverride struct {
	Key            string             `json:"key"`
	Document       ruletable.JSONText `json:"document,omitempty"`
	Ended          bool               `json:"ended,omitempty"`  // the document and all grants have ended
	Unused         string             `json:"unused,omitempty"` // why no request looks the key up
	Error          string             `json:"error,omitempty"`  // the document cannot be read
	Grants         []GrantReport      `json:"grants,omitempty"`
	ruletable.Note                    // of its author

	Override *OverrideReport `json:"-"` // nil if the document cannot be read
}

// ListOptions select the overrides to list.
type ListOptions struct {
	Table  string
	Rule   string // or rules.PlanOverrides
	Prefix string // of the keys, as they are listed
	Limit  int    // 0 for all
}

// overrideList counts the listed overrides of a rule.
type overrideList struct {
	*ListOptions
	set                        *rules.Set
	listed, unreadable, unused int
	reason                     string // why the first unused one is not looked up
}

// ListOverrides passes the overrides of a rule to show, in the order of their
// keys, each as soon as it is read. It notes the overrides that the list omits.
func ListOverrides(ctx context.Context, o *ListOptions, listener Listener, show func(*ListedOverride) error) error {
	table, set, err := session.OpenRules(ctx, o.Table)
	if err != nil {
		return err
	}
	l, now := overrideList{ListOptions: o, set: set}, time.Now()
	for stored, err := range table.Overrides(ctx, o.Rule, o.Prefix) {
		if errors.Is(err, ruletable.ErrUnreadable) {
			l.unreadable++
			listener.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		if err := show(l.report(stored, now)); err != nil {
			return err
		}
		if l.listed++; l.listed == o.Limit {
			break
		}
	}
	return l.conclude(listener)
}

func (l *overrideList) report(o *ruletable.Override, now time.Time) *ListedOverride {
	report := &ListedOverride{Key: o.Key, Document: ruletable.JSONText(o.Document), Note: o.Note, Unused: Unused(l.set, l.Rule, o.Key)}
	if report.Unused != "" {
		l.unused++
		l.reason = cmp.Or(l.reason, report.Unused)
	}
	parsed, err := parseStored(o)
	if err != nil {
		report.Error = err.Error()
		return report
	}
	report.Override = reportOverride(parsed, &o.Note, o.Grants, now)
	report.Grants, report.Ended = report.Override.Grants, report.Override.ended()
	return report
}

// conclude reports what the list cannot show, such as unreadable overrides.
func (l *overrideList) conclude(listener Listener) error {
	gone := checkOverrideRule(l.set, l.Rule)
	switch {
	case gone == nil && l.set.OverridesHashed(l.Rule) && l.Prefix != "" && !strings.HasPrefix(l.Prefix, "%"):
		listener.Note("no prefix such as %s finds overrides of %s, whose keys are hashed; `slidegate overrides get %s KEY` finds one",
			text.Printable(l.Prefix), l.Rule, l.Rule)
	case l.listed+l.unreadable > 0:
	case gone != nil:
		return gone
	case l.Prefix != "":
		listener.Note("the table holds no overrides of %s whose keys begin with %s", l.Rule, text.Printable(l.Prefix))
	default:
		listener.Note("the table holds no overrides of %s", l.Rule)
	}
	if l.unused > 0 {
		listener.Warn("no request looks up %s of these, the first because %s", text.Thousands(l.unused), l.reason)
	}
	if n := len(l.set.Document().Overrides[l.Rule]); n > 0 {
		listener.Note("the rules themselves hold %s besides", text.Plural(n, "override"))
	}
	if l.unreadable > 0 {
		return fmt.Errorf("%s cannot be read; `slidegate overrides delete` removes them", text.Plural(l.unreadable, "override"))
	}
	return nil
}
