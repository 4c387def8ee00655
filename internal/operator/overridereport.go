package operator

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
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
	Until     *time.Time       `json:"until,omitempty"`
	Why       string           `json:"why,omitempty"`
	Who       string           `json:"who,omitempty"`
	When      *time.Time       `json:"when,omitempty"`
	Grants    []GrantReport    `json:"grants,omitempty"`
}

// GrantReport describes a grant.
type GrantReport struct {
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

// InRules reports whether the override is written in the document.
func (r *OverrideReport) InRules() bool { return r.From == fromRules }

func (r *OverrideReport) addNote(n *ruletable.Note) {
	r.Who, r.When, r.Why = n.Who, some(n.When), n.Why
}

// addTerms takes in what the override says. Its own reason comes before that of
// its author, who may have set many at once.
func (r *OverrideReport) addTerms(o *rules.Override, now time.Time) {
	r.InForce = o.InForce(now)
	r.Deny, r.Unlimited, r.Plan, r.Capacity = o.Deny, o.Unlimited, o.Plan, o.Capacity
	r.Until, r.Why = some(o.Until), cmp.Or(o.Why, r.Why)
	for i := range o.Limits {
		r.Limits = append(r.Limits, formOf(&o.Limits[i]))
	}
}

func (r *OverrideReport) addGrants(grants []ruletable.Grant, now time.Time) {
	for _, g := range grants {
		r.Grants = append(r.Grants, GrantReport{
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

// Summary says in a few words what the override says; empty for grants alone.
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
			limits = append(limits, r.Limits[i].brief())
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

// ended reports whether neither the override nor a grant is in force any more.
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
