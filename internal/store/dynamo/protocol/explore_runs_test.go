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
func (r run) explore(t *testing.T, m *mutant, only string, depth int) finding {
	if r.callers != nil {
		s := *r.callers
		s.mutant = m
		return explore(s.with(t), only, depth)
	}
	a := *r.adversary
	a.mutant = m
	x := a.with(t)
	f := explore(x, only, depth)
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
			found := r.explore(t, nil, "", 0)
			found.report(t)
		})
	}
}
