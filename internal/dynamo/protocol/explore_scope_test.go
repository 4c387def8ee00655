package protocol

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// The files explore_*_test.go search small systems exhaustively. The planning
// code of this package decides, its real expressions are interpreted by a model
// of DynamoDB, and every interleaving that a scope allows is tried. Since the
// systems are small, few different questions arise: the oracle puts each to the
// real code once and remembers the answer, so that a state of a search is a
// handful of small integers.

// tick is the step of all clocks, and as long as the slack of the ttl, so that
// a search is long enough to outlive an item.
const tick = slack

// dawn is moment 0. It begins a window of every length that is explored.
var dawn = time.Unix(0, 0).Add(480_000 * tick)

// moment returns the time that a clock shows after some ticks.
func moment(ticks int8) time.Time { return dawn.Add(time.Duration(ticks) * tick) }

// ticksOf returns how many ticks after dawn a slot begins.
func ticksOf(l *limit.Limit, slot int64) int8 { return int8(l.Until(slot, dawn) / tick) }

// scope says what a search is about: the limits of one key, at each of the
// capacities that callers may know, what charges may cost, and by how much they
// may be corrected.
type scope struct {
	limits [][]limit.Limit
	costs  [][]int64
	deltas [][]int64
	ttl    bool // whether expiry is explored: else items are kept without their ttl
	mutant *mutant
}

// sliding returns a sliding window that holds k slots before the current one,
// each a tick; without any a fixed window.
func sliding(capacity, k int64) limit.Limit {
	if k == 0 {
		return limit.Limit{Algorithm: limit.FixedWindow, Capacity: capacity, Window: tick, Granularity: tick}
	}
	return limit.Limit{Capacity: capacity, Window: time.Duration(k) * tick, Granularity: tick}
}

// weighted returns a sliding window counter whose window lasts some ticks.
func weighted(capacity, ticks int64) limit.Limit {
	window := time.Duration(ticks) * tick
	return limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: capacity, Window: window, Granularity: window}
}

// logged returns a sliding window log.
func logged(capacity, ticks int64) limit.Limit {
	window := time.Duration(ticks) * tick
	return limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: capacity, Window: window, Granularity: limit.Exact}
}

// bucket returns a token bucket that holds some units and refills one in two
// ticks.
func bucket(burst int64) limit.Limit {
	return limit.Limit{Algorithm: limit.TokenBucket, Capacity: 1, Window: 2 * tick, Burst: burst}
}

// one makes a scope of a single limit, whose capacity may change, and whose
// charges cost from 1 to costs units.
func one(costs int64, limits ...limit.Limit) scope {
	var s scope
	for _, l := range limits {
		s.limits = append(s.limits, []limit.Limit{l})
	}
	for cost := int64(1); cost <= costs; cost++ {
		s.costs = append(s.costs, []int64{cost})
		s.deltas = append(s.deltas, []int64{-cost})
	}
	s.deltas = append(s.deltas, []int64{1})
	if !limits[0].Correctable() {
		s.deltas = nil
	}
	return s
}

// two makes a scope of a pair of limits, both charged or neither, or only one
// of them.
func two(a, b limit.Limit, deltas ...[]int64) scope {
	return scope{limits: [][]limit.Limit{{a, b}}, costs: [][]int64{{1, 1}, {1, 0}, {0, 2}}, deltas: deltas}
}

func (s scope) expiring() scope {
	s.ttl = true
	return s
}

// charge returns a charge of the explored key.
func (s *scope) charge(capacity, cost int8) *limit.Charge {
	return &limit.Charge{Key: "key", Limits: s.limits[capacity], Costs: s.costs[cost]}
}

// slots returns k of the first limit.
func (s *scope) slots() int8 { return int8(s.limits[0][0].Slots()) }

// quiet returns how many ticks without a request let every limit forget.
func (s *scope) quiet() (ticks int8) {
	for i := range s.limits[0] {
		l := &s.limits[0][i]
		ticks = max(ticks, int8((l.Drain()+l.Window+l.Granularity)/tick)+1)
	}
	return ticks
}

// charges reports whether a settlement charges more.
func (s *scope) charges(delta int) bool {
	return slices.ContainsFunc(s.deltas[delta], func(d int64) bool { return d > 0 })
}
