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
