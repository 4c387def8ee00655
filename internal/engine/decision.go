package engine

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Reason says on what ground a request was decided.
type Reason uint8

const (
	Limited   Reason = iota // by the rules that cover it
	Skipped                 // allowed by the rule file's skip
	Banned                  // denied by the rule file's deny
	Unmatched               // no rule covers it: as the rule file's unmatched says
)

// Decision is the answer to a request.
type Decision struct {
	Allowed  bool
	Reason   Reason
	Degraded bool // a store did not answer, and a rule's on_error decided
	// Delay is how long an allowed request is to be held before it goes on: the longest that a leaky bucket asks for.
	Delay time.Duration
	// Verdicts has one element for each rule that covers an allowed request, in file order. For a denied one it holds
	// the denying rule's alone.
	Verdicts []Verdict
}

// Verdict is what one rule says of a request.
type Verdict struct {
	limit.Verdict
	Rule *rules.Rule
	Key  string // what the rule counts by, as filled in from the request
	// Blind says that nothing was counted: the store did not answer, and on_error allows or denies regardless.
	Blind    bool
	Degraded bool

	charge  limit.Charge
	asked   bool
	charged Store // that has made the charge; nil while none has
}

func newVerdict(rule *rules.Rule, req *rules.Request) Verdict {
	key := string(rule.AppendKey(make([]byte, 0, 64), req))
	return Verdict{Rule: rule, Key: key, charge: limit.Charge{Key: rule.Item(key), Limits: rule.Limits, Costs: rule.Costs}}
}

// denier returns the verdict if it denies, else nil.
func (v *Verdict) denier() *Verdict {
	if v.Allowed {
		return nil
	}
	return v
}

// conclude decides by the verdicts: deny where one of them does, else allow.
func (d *Decision) conclude(denier *Verdict) {
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		d.Degraded = d.Degraded || v.Degraded
		d.Delay = max(d.Delay, v.Delay)
	}
	if d.Allowed = denier == nil; !d.Allowed {
		d.Delay, d.Verdicts = 0, []Verdict{*denier}
	}
}

// PolicyName returns the name by which clients know limit i of the rule: "rule", or "rule.limit" if it has several.
func (v *Verdict) PolicyName(i int) string {
	if name := v.Rule.Limits[i].Name; name != "" {
		return v.Rule.Name + "." + name
	}
	return v.Rule.Name
}

// Tightest returns the limit that denied the request, the one to wait longest for if several did, else the one with the
// least share left of what it holds. It returns nil if no limit was asked.
func (d *Decision) Tightest() (v *Verdict, i int) {
	for n := range d.Verdicts {
		candidate := &d.Verdicts[n]
		if candidate.Blind {
			continue
		}
		for j := range candidate.Rule.Limits {
			if v == nil || tighter(candidate, j, v, i) {
				v, i = candidate, j
			}
		}
	}
	return v, i
}

func tighter(a *Verdict, i int, b *Verdict, j int) bool {
	x, y := &a.Limits[i], &b.Limits[j]
	if x.Allowed != y.Allowed {
		return !x.Allowed
	}
	if !x.Allowed {
		return longer(x.RetryAfter, y.RetryAfter)
	}
	// Shares compared without division: both numbers are below 2³².
	return uint64(x.Remaining)*uint64(b.Rule.Limits[j].Most()) < uint64(y.Remaining)*uint64(a.Rule.Limits[i].Most())
}
