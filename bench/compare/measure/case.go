// Package measure lets limiters decide in turns, and compares each with the
// bare operation of the same round. Other work on the machine then slows both,
// and their ratio stays.
package measure

import (
	"context"
	"time"
)

// Decide decides one request of a key.
type Decide func(ctx context.Context, key string) (allowed bool, err error)

// Limit is what a subject has to enforce for each key.
type Limit struct {
	Capacity int64
	Window   time.Duration
	Slots    int // of a sliding window of Slidegate
}

// Subject is a limiter to measure, or the bare operation that limits nothing.
type Subject struct {
	Name string
	// Open returns a limiter without counters.
	Open func(ctx context.Context, l Limit) (*Limiter, error)
	// Clients replaces the number of the case; 0 stands for that number.
	Clients int
}

// Limiter is a subject with a limit.
type Limiter struct {
	Decide Decide
	// Fill charges units of a key in each slot of the window that ends now, so
	// that the limiter has as much state as under a steady load. It is nil for
	// limiters whose state does not grow.
	Fill func(ctx context.Context, key string, units int64) error
	// Calls counts what the limiter has sent to its server; nil for one in
	// memory.
	Calls func() Calls
	Close func()
}

// Calls counts round trips, and what they read and wrote.
type Calls struct{ Calls, Reads, Writes int64 }

func (c Calls) minus(o Calls) Calls {
	return Calls{c.Calls - o.Calls, c.Reads - o.Reads, c.Writes - o.Writes}
}

// Case is one load on several subjects, the first of which is the bare
// operation.
type Case struct {
	ID    string // such as "memory/hot/0.5x/1"
	Title string
	Group string  // the table or the chart that shows it
	X     float64 // where a chart shows it
	// ByCPU compares CPU times, which other work on the machine does not
	// lengthen. It suits operations that never wait.
	ByCPU bool
	// Factor is the offered load ÷ the limit, below 1. A trial of each subject
	// finds the capacity for it: every subject gets this share of its own limit.
	// With 0, Capacity is the limit.
	Factor float64
	// Flood is the offered load ÷ the limit, above 1. Each key gets so many times
	// the capacity as fast as it is answered, and then the next key follows.
	Flood float64
	// Capacity is the limit of each key if Factor and Flood are 0. With 0 as well,
	// everything is allowed.
	Capacity int64
	Keys     int // 1, or the number of keys
	// Uniform sends as many requests of each key, and not by a Zipf
	// distribution.
	Uniform bool
	// Visit sends a request of each key before the first turn.
	Visit   bool
	Clients int
	Slots   int
	// Rate is the pace of an open loop in decisions a second. With 0, each
	// client sends its next request when it has the answer.
	Rate   float64
	Window time.Duration // of the limit
	Turn   time.Duration // of a subject in a round
	Lead   time.Duration // of unmeasured requests before each turn
	Rounds int
	// Sample times every n-th decision by itself, for p50 and p99.
	Sample   int
	Subjects []Subject
	// Server returns the CPU time of the server so far, and Scripts the part of
	// it in scripts; nil for none.
	Server, Scripts func() time.Duration
}

// unlimited is a capacity that no trial reaches.
const unlimited = 4_000_000_000

// Result is a subject in a case. Times are in nanoseconds for one decision.
type Result struct {
	Case    string  `json:"case"`
	Group   string  `json:"group"`
	Title   string  `json:"title"`
	X       float64 `json:"x,omitempty"`
	Subject string  `json:"subject"`
	Time    float64 `json:"ns"`    // wall or CPU time ÷ decisions of all clients; median of the rounds
	Ratio   float64 `json:"ratio"` // that ÷ bare of the same round; median of the rounds
	Low     float64 `json:"ratio_low"`
	High    float64 `json:"ratio_high"`
	P50     float64 `json:"p50_ns"`
	P99     float64 `json:"p99_ns"`
	P99Rat  float64 `json:"p99_ratio"`
	Allocs  float64 `json:"allocs"`
	CPU     float64 `json:"client_cpu_ns"`
	CPURat  float64 `json:"client_cpu_ratio"`
	Server  float64 `json:"server_cpu_ns"`
	Scripts float64 `json:"server_scripts_ns"`
	Remote  bool    `json:"remote"` // it has a server
	Calls   float64 `json:"calls"`
	Reads   float64 `json:"reads"`
	Writes  float64 `json:"writes"`
	Allowed float64 `json:"allowed"` // share of the decisions
	Failed  float64 `json:"failed"`  // share that returned an error
}
