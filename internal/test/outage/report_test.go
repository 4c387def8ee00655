package outage

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// counted names what a report counts, in the order of its table. Denials
// include those by a snapshot, and requests without an answer include resets.
// Units are lost if they were charged but not admitted, because the outcome was
// unknown. Attempts are the writes of a request that reached the table. Writes
// include refused ones.
var counted = []string{
	"decisions", "over-admissions", "admitted", "denied", "denied by a snapshot",
	"no answer, contended", "no answer, clock far ahead", "no answer, throttled", "no answer, outcome unknown",
	"units lost", "one attempt", "two attempts", "three attempts",
	"writes", "reads", "pruning writes", "resets", "items expired",
}

// Report is the result of one or more worlds. Reports of the same plans are
// equal.
type Report struct {
	Worlds    int64
	Simulated time.Duration
	Counts    map[string]int64 // by the names in counted

	// Attributes and Bytes are those of the item with the most attributes.
	Attributes, Bytes int
	// Peak is the largest share of a capacity that was admitted in a window of
	// true time, whatever the clocks.
	Peak float64

	// Violations are what must not happen, each with the latest events of its
	// counter.
	Violations []string
}

// NewReport returns the report of no world.
func NewReport() *Report {
	r := &Report{Counts: map[string]int64{}}
	for _, name := range counted {
		r.Counts[name] = 0
	}
	return r
}

// count adds to a number of the report.
func (w *world) count(name string, n int64) {
	if _, ok := w.report.Counts[name]; !ok {
		panic("outage: reports do not count " + name)
	}
	w.report.Counts[name] += n
}

// Add adds another world's report.
func (r *Report) Add(o *Report) {
	r.Worlds += o.Worlds
	r.Simulated += o.Simulated
	for name, n := range o.Counts {
		r.Counts[name] += n
	}
	if o.Attributes > r.Attributes {
		r.Attributes, r.Bytes = o.Attributes, o.Bytes
	}
	r.Peak = max(r.Peak, o.Peak)
	r.Violations = append(r.Violations, o.Violations...)
}

// String prints the report as a table of numbers and their shares of the
// decisions.
func (r *Report) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "worlds\t%d\t\t\nsimulated\t%v\t\t\n", r.Worlds, r.Simulated.Round(time.Second))
	for _, name := range counted {
		n := r.Counts[name]
		fmt.Fprintf(t, "%s\t%d\t%.4f\t\n", name, n, float64(n)/float64(max(1, r.Counts["decisions"])))
	}
	fmt.Fprintf(t, "largest item\t%d attributes\t%d bytes\t\n", r.Attributes, r.Bytes)
	fmt.Fprintf(t, "fullest window by true time\t%.3f\t\t\n", r.Peak)
	_ = t.Flush()
	return b.String() + strings.Join(r.Violations, "\n")
}

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
