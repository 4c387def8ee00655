package outage

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxHistory is the number of a counter's events that a violation lists.
const maxHistory = 48

// note adds an event to the counter's history, with its true time since the
// world began.
func (k *counter) note(w *world, format string, a ...any) {
	if len(k.history) == maxHistory {
		k.history = slices.Delete(k.history, 0, 1)
	}
	at := fmt.Sprintf("%16.6f s  ", time.Duration(w.now-epoch).Seconds())
	k.history = append(k.history, at+fmt.Sprintf(format, a...))
}

// String describes a charge.
func (c *charging) String() string {
	return fmt.Sprintf("cost %d, capacity %d, slot %d, requested at %.6f s by a clock %v wrong, admitted: %v",
		c.cost, c.limit.Capacity, c.slot, time.Duration(c.trueNow-epoch).Seconds(),
		time.Duration(c.now.UnixNano()-c.trueNow), c.admitted)
}

// maxViolations is the number of violations that ends a world.
const maxViolations = 20

// violated reports what must not happen, with the counter's latest events.
func (k *counter) violated(w *world, what string) {
	if len(w.report.Violations) < maxViolations {
		w.report.Violations = append(w.report.Violations, fmt.Sprintf(
			"world %s, seed %d, after %d decisions, counter %s: %s\n%s\n",
			w.plan.Name, w.plan.Seed, w.report.Counts["decisions"], k.key, what, strings.Join(k.history, "\n")))
	}
}

// checkOutcome compares a store's answer with the table: an admission was
// charged once, a denial never.
func (r *request) checkOutcome(allowed bool) {
	switch {
	case allowed && r.applied != 1:
		r.world.count("over-admissions", 1)
		r.counter.violated(r.world, fmt.Sprintf("a request was admitted and charged %d times", r.applied))
	case r.err == nil && !allowed && r.applied != 0, r.applied > 1:
		r.counter.violated(r.world, fmt.Sprintf("a request that was not admitted was charged %d times", r.applied))
	}
}
