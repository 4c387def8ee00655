package sim

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Skewed returns a world of gateways whose clocks are up to a second wrong. The
// window is as long as two of the clocks differ at most, and the gateways take
// turns, so each could admit a whole capacity within the window of another.
// From the end of the warm-up on, the report's Peak shows whether they do.
func Skewed(seed uint64, warmup time.Duration) *Plan {
	return &Plan{
		Name: "skewed", Share: 1, Seed: mix(seed, 0), Environments: 4, Gateways: true, Turns: 1070 * time.Millisecond,
		Network: Network{Latency: 2 * time.Millisecond, Deadline: 250 * time.Millisecond},
		Clocks:  Clocks{Error: time.Second},
		Warmup:  warmup,
		Subjects: []Subject{{
			Limits: []limit.Limit{{Capacity: 100, Window: 2 * time.Second, Granularity: 100 * time.Millisecond}},
			Rate:   400, MaxCosts: []int64{1}, Active: 10 * time.Second, Pause: 3 * time.Second,
		}},
	}
}

// Edge returns a world without faults whose clients know where windows end: one
// limit of 100 a minute, a burst at every border, and enough requests in
// between.
func Edge(seed uint64) *Plan {
	return &Plan{
		Name: "edge", Share: 1, Seed: mix(seed, 0), Environments: 50,
		Network: Network{Latency: 2 * time.Millisecond, Deadline: 250 * time.Millisecond},
		Subjects: []Subject{{
			Limits: []limit.Limit{{Capacity: 100, Window: time.Minute, Granularity: time.Second}},
			Rate:   20, MaxCosts: []int64{1}, Edges: true, Active: 3 * time.Minute, Pause: 3 * time.Minute,
		}},
	}
}
