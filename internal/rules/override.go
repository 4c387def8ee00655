package rules

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// PlanOverrides is the name under which overrides of callers' plans stand, where those of a rule stand under its own.
const PlanOverrides = "plan"

// Override is what an operator has said of one exact key: of a rule, or of the plan that a caller has. The zero value
// changes nothing. It is read-only.
type Override struct {
	Deny      bool             // refuse every request of the key
	Unlimited bool             // the rule does not limit the key
	Plan      string           // the caller's plan; only among PlanOverrides
	Capacity  map[string]int64 // by the limit's name, "" for a rule's only limit: the rest of the limit stays as it is
	Limits    []limit.Limit    // in the place of all of the rule's, in the order of their names; nil to keep them
	Costs     []Cost           // of Limits, one each
	Until     time.Time        // when all of the above ends by itself; the zero Time for never
	Why       string           // for people

	suffix string // of counters with Limits

	Grants []Grant // on top of what is said above, or of what the rule or the plan says
}

// Grant raises a capacity for a time.
type Grant struct {
	Limit string    // its name, "" for a rule's only limit
	Add   int64     // units, above 0
	Until time.Time // when it ends
	From  time.Time // when it was given, for replays: limiters, whose clocks may be late, do not wait for it
}

// InForce reports whether the override says anything at a moment, its grants aside.
func (o *Override) InForce(now time.Time) bool {
	if o == nil || !o.Until.IsZero() && !now.Before(o.Until) {
		return false
	}
	return o.Deny || o.Unlimited || o.Plan != "" || len(o.Capacity) > 0 || o.Limits != nil
}
