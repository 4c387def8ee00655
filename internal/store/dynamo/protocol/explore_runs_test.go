package protocol

import (
	"flag"
	"testing"
)

var wide = flag.Bool("explore.wide", false, "explore the wide scope too: minutes to an hour")

// run is a system to explore: callers or an adversary.
type run struct {
	name      string
	callers   *callers
	adversary *adversary
}

// explore searches a system, whose writes a mutant changes if there is one.
func (r run) explore(t *testing.T, m *mutant, only string) finding {
	if r.callers != nil {
		s := *r.callers
		s.mutant = m
		return explore(s.with(t), only)
	}
	a := *r.adversary
	a.mutant = m
	x := a.with(t)
	f := explore(x, only)
	if x.cut && m == nil {
		t.Logf("beyond %d snapshots the search did not go on", a.past)
	}
	return f
}

func withCallers(name string, s callers) run {
	s.anytime = !s.ttl // an item outlives any write in flight by the slack
	return run{name: name, callers: &s}
}

func withAny(name string, a adversary) run {
	if a.past == 0 {
		a.past = mostPast
	}
	return run{name: name, adversary: &a}
}

// smallRuns returns the systems that every test run explores.
func smallRuns() []run {
	return append(smallCallers(), smallAdversaries()...)
}

// smallCallers returns systems of callers. An independent model of
// docs/protocol.md has exactly as many states as the runs without settlements:
// 4,087 for one caller, 537,412 for the wide run of two callers whose clocks
// agree, 1,633,332 for two whose clocks differ.
func smallCallers() []run {
	window := one(1, sliding(2, 1))
	return []run{
		withCallers("1 caller", callers{scope: one(2, sliding(2, 1)), callers: 1, last: 5}),
		withCallers("1 caller, 2 down, delete", callers{scope: one(2, sliding(2, 1)), callers: 1, last: 2, downs: 2, deletes: 1}),
		withCallers("1 caller, 1 down, 1 up", callers{scope: one(2, sliding(3, 1)), callers: 1, last: 2, downs: 1, ups: 1}),
		withCallers("cost 2", callers{scope: one(2, sliding(3, 1)), callers: 2, last: 2}),
		withCallers("still, cost 2", callers{scope: one(2, sliding(3, 1)), callers: 2, last: 2, still: true}),
		withCallers("k=2, skew 1", callers{scope: one(1, sliding(2, 2)), callers: 2, last: 4, skew: 1}),
		withCallers("capacity 3 to 1", callers{scope: one(1, sliding(3, 1), sliding(1, 1)), callers: 2, last: 2}),
		withCallers("capacity 1 to 3", callers{scope: one(1, sliding(1, 1), sliding(3, 1)), callers: 2, last: 2}),
		withCallers("delete", callers{scope: window, callers: 2, last: 2, deletes: 1}),
		withCallers("1 down", callers{scope: window, callers: 2, last: 2, downs: 1}),
		withCallers("1 up", callers{scope: window, callers: 2, last: 2, ups: 1}),
		withCallers("1 down, delete", callers{scope: one(1, sliding(1, 0)), callers: 2, last: 1, downs: 1, deletes: 1}),
		withCallers("1 free up", callers{scope: window, callers: 2, last: 2, ups: 1, free: true}),
		withCallers("expiry", callers{scope: one(1, sliding(1, 0)).expiring(), callers: 2, last: 3, skew: 1}),
		withCallers("expiry of 2 units", callers{scope: one(1, sliding(2, 0)).expiring(), callers: 2, last: 2, skew: 1}),
		withCallers("expiry, 1 up", callers{scope: one(1, sliding(1, 0)).expiring(), callers: 2, last: 2, skew: 1, ups: 1}),
		withCallers("expiry of 2 limits", callers{scope: two(sliding(1, 0), sliding(2, 2)).expiring(), callers: 1, last: 3}),
		withCallers("transactions", callers{scope: one(2, sliding(3, 1)), callers: 2, last: 2, transacts: true}),
		withCallers("pruning", callers{scope: window, callers: 2, last: 3, prunes: true}),
		withCallers("jump ahead", callers{scope: window, callers: 2, last: 2, jumps: 1, jump: 6}),
		withCallers("jump back", callers{scope: window, callers: 2, last: 4, jumps: 1, jump: -2}),
		withCallers("bucket", callers{scope: one(2, bucket(2)), callers: 2, last: 4, skew: 1}),
		withCallers("still, bucket", callers{scope: one(2, bucket(2)), callers: 2, last: 3, still: true}),
		withCallers("log", callers{scope: one(2, logged(3, 2)), callers: 2, last: 2}),
		withCallers("weighted", callers{scope: one(2, weighted(3, 2)), callers: 2, last: 4}),
		withCallers("window and bucket", callers{scope: two(sliding(2, 1), bucket(2)), callers: 2, last: 1}),
		withCallers("worn", callers{scope: one(1, sliding(2, 1)).wornOut(), callers: 2, last: 2}),
		withCallers("worn, 1 down", callers{scope: window.wornOut(), callers: 2, last: 2, downs: 1}),
		withCallers("worn, 1 up", callers{scope: one(1, sliding(2, 0)).wornOut(), callers: 2, last: 1, ups: 1}),
		withCallers("worn, transactions", callers{scope: window.wornOut(), callers: 2, last: 2, transacts: true}),
	}
}

func smallAdversaries() []run {
	window := one(1, sliding(2, 1))
	return []run{
		withAny("any k=1", adversary{scope: one(1, sliding(3, 1)), clocks: 4}),
		withAny("any cost 2", adversary{scope: one(2, sliding(3, 1)), clocks: 4}),
		withAny("any k=2", adversary{scope: one(2, sliding(3, 2)), clocks: 5}),
		withAny("any k=0", adversary{scope: one(2, sliding(3, 0)), clocks: 3}),
		withAny("any capacities", adversary{scope: one(1, sliding(3, 1), sliding(1, 1)), clocks: 3}),
		withAny("any capacities, 1 up", adversary{scope: one(1, sliding(3, 1), sliding(1, 1)), clocks: 3, ups: 1}),
		withAny("any 2 deletes", adversary{scope: one(1, sliding(1, 1)), clocks: 4, deletes: 2}),
		withAny("any 2 down, delete", adversary{scope: window, clocks: 3, downs: 2, deletes: 1}),
		withAny("any 1 down, 1 up, delete", adversary{scope: window, clocks: 3, downs: 1, ups: 1, deletes: 1}),
		withAny("any free ups", adversary{scope: window, clocks: 3, ups: 2, free: true, deletes: 1}),
		withAny("any pruning", adversary{scope: window, clocks: 3, downs: 1, prunes: true, deletes: 1}),
		withAny("any weighted", adversary{scope: one(2, weighted(3, 3)), clocks: 9}),
		withAny("any weighted, 2 down", adversary{scope: one(1, weighted(2, 3)), clocks: 6, downs: 2}),
		withAny("any bucket, delete", adversary{scope: one(2, bucket(2)), clocks: 6, deletes: 1}),
		withAny("any log, delete", adversary{scope: one(1, logged(2, 2)), clocks: 4, deletes: 1}),
		withAny("any window and bucket", adversary{scope: two(sliding(2, 1), bucket(2)), clocks: 3}),
		withAny("any window and log", adversary{scope: two(sliding(2, 1), logged(2, 2)), clocks: 3}),
		withAny("any windows, 1 down", adversary{scope: two(sliding(2, 1), sliding(1, 0), []int64{-1, -1}), clocks: 3, downs: 1}),
		withAny("any transactions", adversary{scope: window, clocks: 4, transactions: true, deletes: 1}),
		withAny("any transactions, 1 down", adversary{scope: window, clocks: 3, transactions: true, downs: 1}),
		withAny("any transactions, capacities", adversary{scope: one(1, sliding(2, 1), sliding(1, 1)), clocks: 4, transactions: true}),
		withAny("any transactions, weighted", adversary{scope: one(1, weighted(2, 3)), clocks: 9, transactions: true}),
		withAny("any transactions, bucket", adversary{scope: one(2, bucket(3)), clocks: 6, transactions: true}),
		withAny("any transactions, log", adversary{scope: one(2, logged(3, 2)), clocks: 4, transactions: true}),
		withAny("any worn", adversary{scope: one(2, sliding(3, 1)).wornOut(), clocks: 4}),
		withAny("any worn, capacities", adversary{scope: one(1, sliding(3, 1), sliding(1, 1)).wornOut(), clocks: 3}),
		withAny("any worn, 1 down, 1 up, delete", adversary{scope: window.wornOut(), clocks: 3, downs: 1, ups: 1, deletes: 1}),
		withAny("any worn, pruning", adversary{scope: window.wornOut(), clocks: 4, prunes: true}),
		withAny("any worn, weighted", adversary{scope: one(2, weighted(3, 3)).wornOut(), clocks: 9}),
		withAny("any worn, 2 limits", adversary{scope: two(sliding(2, 1), sliding(1, 0)).wornOut(), clocks: 3}),
		withAny("any worn, transactions", adversary{scope: window.wornOut(), clocks: 4, transactions: true}),
		withAny("any transactions, 2 limits", adversary{scope: two(sliding(2, 1), bucket(2)), clocks: 2, transactions: true}),
	}
}

// TestExplore checks every invariant of the protocol.
func TestExplore(t *testing.T) {
	runs := smallRuns()
	if *wide {
		runs = append(runs, wideRuns()...)
	}
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			found := r.explore(t, nil, "")
			found.report(t)
		})
	}
}

// wideRuns returns the systems that -explore.wide adds. Each takes seconds to
// minutes.
func wideRuns() []run { return append(wideCallers(), wideAdversaries()...) }

func wideCallers() []run {
	window := one(1, sliding(2, 1))
	return []run{
		withCallers("wide: cost 2, clocks agree", callers{scope: one(2, sliding(3, 1)), callers: 2, last: 4}),
		withCallers("wide: fixed, skew 1, cost 2", callers{scope: one(2, sliding(3, 0)), callers: 2, last: 3, skew: 1}),
		withCallers("wide: fixed, capacity 3 to 2, cost 2", callers{scope: one(2, sliding(3, 0), sliding(2, 0)), callers: 2, last: 2, skew: 1}),
		withCallers("wide: 3 callers, clocks agree", callers{scope: window, callers: 3, last: 5}),
		withCallers("wide: 3 callers, skew 1", callers{scope: window, callers: 3, last: 3, skew: 1}),
		withCallers("wide: 3 callers, cost 2", callers{scope: one(2, sliding(3, 1)), callers: 3, last: 3}),
		withCallers("wide: 3 callers, delete", callers{scope: window, callers: 3, last: 3, deletes: 1}),
		withCallers("wide: 3 callers, 1 down", callers{scope: window, callers: 3, last: 3, downs: 1}),
		withCallers("wide: 3 callers, 1 up", callers{scope: window, callers: 3, last: 3, ups: 1}),
		withCallers("wide: k=2, cost 2, skew 1", callers{scope: one(2, sliding(3, 2)), callers: 2, last: 4, skew: 1}),
		withCallers("wide: cost 2, skew 1", callers{scope: one(2, sliding(3, 1)), callers: 2, last: 4, skew: 1}),
		withCallers("wide: capacity 3 to 1, 2 deletes", callers{scope: one(1, sliding(3, 1), sliding(1, 1)), callers: 2, last: 3, skew: 1, deletes: 2}),
		withCallers("wide: capacity 1 to 3, skew 1", callers{scope: one(1, sliding(1, 1), sliding(3, 1)), callers: 2, last: 3, skew: 1}),
		withCallers("wide: cost 2, 1 down, skew 1", callers{scope: one(2, sliding(2, 1)), callers: 2, last: 3, skew: 1, downs: 1}),
		withCallers("wide: k=2, 1 down, skew 1", callers{scope: one(1, sliding(2, 2)), callers: 2, last: 4, skew: 1, downs: 1}),
		withCallers("wide: 2 down, skew 1", callers{scope: window, callers: 2, last: 3, skew: 1, downs: 2}),
		withCallers("wide: 1 down, 1 up, skew 1", callers{scope: window, callers: 2, last: 3, skew: 1, downs: 1, ups: 1}),
		withCallers("wide: 1 down, delete", callers{scope: window, callers: 2, last: 2, downs: 1, deletes: 1}),
		withCallers("wide: 1 down, capacity 2 to 1", callers{scope: one(1, sliding(2, 1), sliding(1, 1)), callers: 2, last: 2, skew: 1, downs: 1}),
		withCallers("wide: 1 up, delete", callers{scope: window, callers: 2, last: 2, ups: 1, deletes: 1}),
		withCallers("wide: 1 free up, delete", callers{scope: window, callers: 2, last: 3, ups: 1, free: true, deletes: 1}),
		withCallers("wide: expiry, 2 units", callers{scope: one(1, sliding(2, 0)).expiring(), callers: 2, last: 4, skew: 1}),
		withCallers("wide: expiry, k=1", callers{scope: window.expiring(), callers: 2, last: 5, skew: 1}),
		withCallers("wide: expiry, 1 up", callers{scope: one(1, sliding(1, 0)).expiring(), callers: 2, last: 4, skew: 1, ups: 1}),
		withCallers("wide: expiry, 1 down", callers{scope: one(1, sliding(2, 0)).expiring(), callers: 2, last: 3, skew: 1, downs: 1}),
		withCallers("wide: transactions, delete", callers{scope: window, callers: 2, last: 3, skew: 1, transacts: true, deletes: 1}),
		withCallers("wide: transactions, 1 down", callers{scope: window, callers: 2, last: 3, transacts: true, downs: 1}),
		withCallers("wide: still, 3 callers, skew 1", callers{scope: window, callers: 3, last: 3, skew: 1, still: true}),
		withCallers("wide: still, delete", callers{scope: window, callers: 2, last: 4, deletes: 1, still: true}),
		withCallers("wide: still, capacity 3 to 1", callers{scope: one(1, sliding(3, 1), sliding(1, 1)), callers: 2, last: 4, still: true}),
		withCallers("wide: still, capacity 1 to 3", callers{scope: one(1, sliding(1, 1), sliding(3, 1)), callers: 2, last: 4, still: true}),
		withCallers("wide: still, 1 down", callers{scope: window, callers: 2, last: 3, downs: 1, still: true}),
		withCallers("wide: still, 1 up", callers{scope: window, callers: 2, last: 3, ups: 1, still: true}),
		withCallers("wide: pruning, 1 down", callers{scope: window, callers: 2, last: 3, prunes: true, downs: 1}),
		withCallers("wide: 2 jumps ahead", callers{scope: window, callers: 2, last: 3, jumps: 2, jump: 6}),
		withCallers("wide: jump back, skew 1", callers{scope: window, callers: 2, last: 5, skew: 1, jumps: 1, jump: -2}),
		withCallers("wide: bucket", callers{scope: one(2, bucket(2)), callers: 2, last: 7}),
		withCallers("wide: bucket, skew 2, delete", callers{scope: one(2, bucket(2)), callers: 2, last: 5, skew: 2, deletes: 1}),
		withCallers("wide: 3 callers, bucket", callers{scope: one(1, bucket(2)), callers: 3, last: 4, skew: 1}),
		withCallers("wide: log, skew 1, delete", callers{scope: one(1, logged(3, 2)), callers: 2, last: 4, skew: 1, deletes: 1}),
		withCallers("wide: weighted, skew 1, 1 down", callers{scope: one(1, weighted(3, 2)), callers: 2, last: 5, skew: 1, downs: 1}),
		withCallers("wide: window and bucket", callers{scope: two(sliding(2, 1), bucket(2)), callers: 2, last: 3}),
	}
}

func wideAdversaries() []run {
	down := []int64{-1, 0}
	return []run{
		withAny("wide: any k=1", adversary{scope: one(1, sliding(3, 1)), clocks: 7, past: 12}),
		withAny("wide: any cost 2", adversary{scope: one(2, sliding(4, 1)), clocks: 5}),
		withAny("wide: any k=2", adversary{scope: one(2, sliding(3, 2)), clocks: 7}),
		withAny("wide: any k=0", adversary{scope: one(2, sliding(3, 0)), clocks: 4}),
		withAny("wide: any capacities", adversary{scope: one(2, sliding(3, 1), sliding(2, 1)), clocks: 5}),
		withAny("wide: any capacities, 2 down", adversary{scope: one(2, sliding(3, 1), sliding(2, 1)), clocks: 4, past: 12, downs: 2}),
		withAny("wide: any 2 deletes", adversary{scope: one(1, sliding(2, 1)), clocks: 4, deletes: 2}),
		withAny("wide: any cost 2, 2 down", adversary{scope: one(2, sliding(3, 1)), clocks: 5, past: 12, downs: 2}),
		withAny("wide: any k=2, cost 2, 2 down", adversary{scope: one(2, sliding(3, 2)), clocks: 6, past: 12, downs: 2}),
		withAny("wide: any cost 2, 1 down, 2 up", adversary{scope: one(2, sliding(3, 1)), clocks: 4, past: 12, downs: 1, ups: 2}),
		withAny("wide: any 2 down, 2 up, delete", adversary{scope: one(1, sliding(2, 1)), clocks: 3, past: 12, downs: 2, ups: 2, deletes: 1}),
		withAny("wide: any free ups", adversary{scope: one(1, sliding(2, 1)), clocks: 4, past: 12, ups: 2, free: true, deletes: 1}),
		withAny("wide: any pruning, delete", adversary{scope: one(1, sliding(2, 1)), clocks: 5, past: 12, downs: 1, prunes: true, deletes: 1}),
		withAny("wide: any weighted", adversary{scope: one(2, weighted(4, 4)), clocks: 16, past: 12}),
		withAny("wide: any weighted, 3 ticks", adversary{scope: one(2, weighted(3, 3)), clocks: 15, past: 12}),
		withAny("wide: any weighted, capacities", adversary{scope: one(1, weighted(3, 3), weighted(1, 3)), clocks: 12, past: 12}),
		withAny("wide: any weighted, 2 down", adversary{scope: one(2, weighted(3, 3)), clocks: 9, past: 12, downs: 2}),
		withAny("wide: any weighted, 1 down, 1 up", adversary{scope: one(2, weighted(3, 3)), clocks: 9, past: 12, downs: 1, ups: 1}),
		withAny("wide: any bucket, 2 deletes", adversary{scope: one(2, bucket(2)), clocks: 6, deletes: 2}),
		withAny("wide: any log, delete", adversary{scope: one(2, logged(3, 2)), clocks: 5, deletes: 1}),
		withAny("wide: any window and bucket", adversary{scope: two(sliding(2, 1), bucket(2)), clocks: 5, past: 12}),
		withAny("wide: any window and log", adversary{scope: two(sliding(2, 1), logged(2, 2)), clocks: 5, past: 12}),
		withAny("wide: any window and weighted", adversary{scope: two(sliding(2, 1), weighted(2, 2)), clocks: 6, past: 12}),
		withAny("wide: any weighted and bucket", adversary{scope: two(weighted(2, 2), bucket(2)), clocks: 6, past: 12}),
		withAny("wide: any windows, 2 down", adversary{scope: two(sliding(2, 1), sliding(2, 0), down, []int64{0, -1}, []int64{1, 1}), clocks: 3, past: 12, downs: 2, ups: 1}),
		withAny("wide: any transactions", adversary{scope: one(1, sliding(3, 1)), clocks: 5, transactions: true}),
		withAny("wide: any transactions, cost 2", adversary{scope: one(2, sliding(3, 1)), clocks: 5, transactions: true}),
		withAny("wide: any transactions, 1 down, delete", adversary{scope: one(1, sliding(2, 1)), clocks: 4, transactions: true, downs: 1, deletes: 1}),
		withAny("wide: any transactions, 1 up", adversary{scope: one(1, sliding(2, 1)), clocks: 5, transactions: true, ups: 1}),
		withAny("wide: any transactions, k=2", adversary{scope: one(1, sliding(3, 2)), clocks: 6, transactions: true}),
		withAny("wide: any transactions, capacities", adversary{scope: one(1, sliding(3, 1), sliding(2, 1)), clocks: 4, transactions: true}),
		withAny("wide: any transactions, pruning", adversary{scope: one(1, sliding(2, 1)), clocks: 6, transactions: true, prunes: true}),
		withAny("wide: any transactions, weighted", adversary{scope: one(1, weighted(3, 3)), clocks: 12, transactions: true}),
		withAny("wide: any transactions, weighted, 1 down", adversary{scope: one(1, weighted(2, 3)), clocks: 12, transactions: true, downs: 1}),
		withAny("wide: any transactions, bucket", adversary{scope: one(2, bucket(3)), clocks: 8, transactions: true, deletes: 1}),
		withAny("wide: any transactions, log", adversary{scope: one(2, logged(3, 2)), clocks: 5, transactions: true, deletes: 1}),
		withAny("wide: any transactions, window and bucket", adversary{scope: two(sliding(2, 1), bucket(2)), clocks: 5, transactions: true}),
		withAny("wide: any transactions, window and log", adversary{scope: two(sliding(2, 1), logged(2, 2)), clocks: 4, transactions: true}),
	}
}
