package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// logEntry is an event of a counter.
type logEntry struct {
	at          int64
	environment int
	what        string
	charging    charging
}

// maxHistory is the number of events that a violation lists.
const maxHistory = 48

// history keeps the latest events of a counter, oldest first.
type history []logEntry

func (h *history) add(e logEntry) {
	if len(*h) == maxHistory {
		*h = slices.Delete(*h, 0, 1)
	}
	*h = append(*h, e)
}

func (h history) String() string {
	var b strings.Builder
	for i := range h {
		fmt.Fprintln(&b, "   ", &h[i])
	}
	return b.String()
}

// String formats an event: its true time since the world began, its environment
// and what happened.
func (e *logEntry) String() string {
	text := fmt.Sprintf("%12.6f s  %-11s", time.Duration(e.at-epoch).Seconds(), e.what)
	if e.environment != 0 {
		text += fmt.Sprintf(" by %d", e.environment)
	}
	c := &e.charging
	if c.limit == nil {
		return text
	}
	text += fmt.Sprintf(", limit %q, cost %d, capacity %d, slot %d, requested at %.6f s by a clock %v wrong", c.limit.Name, c.cost,
		c.limit.Capacity, c.slot, time.Duration(c.trueNow-epoch).Seconds(), time.Duration(c.now.UnixNano()-c.trueNow))
	if !c.admitted {
		text += ", not admitted"
	}
	return text
}

// maxViolations is the number of violations that ends a world.
const maxViolations = 20

// Violation is something that must not happen.
type Violation struct {
	World string `json:"world"`
	Seed  uint64 `json:"seed"`
	// Decisions is the number of decisions in its world before the violation.
	Decisions int64  `json:"decisions"`
	Counter   string `json:"counter"`
	What      string `json:"what"`
	Latest    string `json:"latest"` // the counter's latest events
}

// String formats the violation with the counter's latest events.
func (v *Violation) String() string {
	return fmt.Sprintf("world %s, seed %d, after %d decisions, counter %s: %s\n%s", v.World, v.Seed, v.Decisions, v.Counter, v.What,
		v.Latest)
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
