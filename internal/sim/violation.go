package sim

import "fmt"

// maxViolations is where a world gives up.
const maxViolations = 20

// Violation is something that must not happen.
type Violation struct {
	World string `json:"world"`
	Seed  uint64 `json:"seed"`
	// Decisions is how many had been made in its world by then.
	Decisions int64  `json:"decisions"`
	Counter   string `json:"counter"`
	What      string `json:"what"`
	Latest    string `json:"latest"` // what happened to the counter before
}

// String formats the violation with the counter's latest events.
func (v *Violation) String() string {
	return fmt.Sprintf("world %s, seed %d, after %d decisions, counter %s: %s\n%s", v.World, v.Seed, v.Decisions, v.Counter, v.What, v.Latest)
}

func (k *counter) violated(w *world, what string) {
	if len(w.report.Violations) < maxViolations {
		w.report.Violations = append(w.report.Violations, Violation{
			w.plan.Name, w.plan.Seed, w.report.Decisions, k.key, what, k.history.String(),
		})
	}
}

// checkOutcome compares a store's answer with the table: an admission was
// charged once, a denial never.
func (k *counter) checkOutcome(r *request, p *part, allowed bool) {
	switch {
	case r.environment.other != nil || p.charge.ZeroCost():
	case allowed && p.applied != 1:
		r.world.report.OverAdmissions++
		k.violated(r.world, fmt.Sprintf("a request was admitted and charged %d times", p.applied))
	case r.err == nil && !allowed && p.applied != 0, p.applied > 1:
		k.violated(r.world, fmt.Sprintf("a request that was not admitted was charged %d times", p.applied))
	}
}
