package sim

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of one or more worlds. Reports of the same plans are
// equal.
type Report struct {
	Worlds    int64         `json:"worlds"`
	Simulated time.Duration `json:"simulated_ns"`

	Decisions        int64 `json:"decisions"`
	Admitted         int64 `json:"admitted"`
	Denied           int64 `json:"denied"` // includes those by a snapshot
	DeniedBySnapshot int64 `json:"denied_by_snapshot"`
	OverAdmissions   int64 `json:"over_admissions"`

	// LostUnits counts units charged to a limit but not admitted, because the
	// outcome of the charge was unknown.
	LostUnits int64 `json:"lost_units"`

	Needless Needless `json:"needless"`
	Errors   Errors   `json:"errors"`

	// Attempts counts requests by the number of their writes that reached the
	// table: 1, 2 and 3.
	Attempts [3]int64 `json:"attempts"`
	// Writes and Reads reached the table, refused ones included. A write of a
	// transaction counts twice.
	Writes int64 `json:"writes"`
	Reads  int64 `json:"reads"`
	// Pruned counts the writes that only prune, refused ones included; Settled
	// counts the corrections that were made.
	Pruned  int64 `json:"pruned"`
	Settled int64 `json:"settled"`
	Resets  int64 `json:"resets"`
	Expired int64 `json:"expired"`

	// Attributes and Bytes are those of the item with the most attributes.
	Attributes int `json:"attributes"`
	Bytes      int `json:"bytes"`
	// Peak is the largest share of a capacity that was admitted in a window of
	// true time, whatever the clocks.
	Peak float64 `json:"peak"`

	Violations []Violation `json:"violations,omitempty"`
}

// Errors counts the requests that a store could not answer, including
// corrections and resets.
type Errors struct {
	Contended int64 `json:"contended"`
	Ahead     int64 `json:"ahead"`
	Throttled int64 `json:"throttled"`
	Unknown   int64 `json:"unknown"` // no answer, or none in time
	Other     int64 `json:"other"`
}

// total is a number that adds up over worlds.
type total struct {
	name string
	n    *int64
}

func (r *Report) totals() []total {
	return []total{
		{"decisions", &r.Decisions},
		{"over-admissions", &r.OverAdmissions},
		{"admitted", &r.Admitted},
		{"denied", &r.Denied},
		{"denied by a snapshot", &r.DeniedBySnapshot},
		{"needless, an old snapshot", &r.Needless.OldSnapshot},
		{"needless, a failed read", &r.Needless.FailedRead},
		{"needless, a late clock", &r.Needless.LateClock},
		{"needless, unexplained", &r.Needless.Unexplained},
		{"no answer, contended", &r.Errors.Contended},
		{"no answer, clock far ahead", &r.Errors.Ahead},
		{"no answer, throttled", &r.Errors.Throttled},
		{"no answer, outcome unknown", &r.Errors.Unknown},
		{"no answer, other errors", &r.Errors.Other},
		{"units lost", &r.LostUnits},
		{"one attempt", &r.Attempts[0]},
		{"two attempts", &r.Attempts[1]},
		{"three attempts", &r.Attempts[2]},
		{"writes", &r.Writes},
		{"reads", &r.Reads},
		{"pruning writes", &r.Pruned},
		{"corrections", &r.Settled},
		{"resets", &r.Resets},
		{"items expired", &r.Expired},
	}
}

// Add adds another world's report.
func (r *Report) Add(o *Report) {
	r.Worlds += o.Worlds
	r.Simulated += o.Simulated
	added := o.totals()
	for i, sum := range r.totals() {
		*sum.n += *added[i].n
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
	for _, sum := range r.totals() {
		fmt.Fprintf(t, "%s\t%d\t%.4f\t\n", sum.name, *sum.n, float64(*sum.n)/float64(max(1, r.Decisions)))
	}
	fmt.Fprintf(t, "largest item\t%d attributes\t%d bytes\t\n", r.Attributes, r.Bytes)
	fmt.Fprintf(t, "fullest window by true time\t%.3f\t\t\n", r.Peak)
	_ = t.Flush()
	for i := range r.Violations {
		fmt.Fprintln(&b, &r.Violations[i])
	}
	return b.String()
}
