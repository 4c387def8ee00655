package suggest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// maxShown is how many spikes of a window are named.
	maxShown = 5
	// spikeFactor is how many times its typical window a spike's peak exceeds.
	spikeFactor = 10
	// maxFloods bounds the floods of a report.
	maxFloods = 100
	// leastUsual is the least peak that others are compared with: eleven requests
	// are no flood where nobody else sends a second one.
	leastUsual = 5
)

// trial decides the requests of one key by one row of a table. Rows that cannot
// deny a key have none (see replay.WindowOf).
type trial struct {
	charge  *limit.Charge
	outcome *Outcome
	states  []limit.State
	denied  bool
}

// choose completes the report but for the outcomes, which the second pass finds.
func (l *learner) choose() (err error) {
	r := &l.report
	proposed := make([]int64, len(r.Windows))
	for i := range r.Windows {
		w, keys := &r.Windows[i], l.byPeak(i)
		if i == 0 {
			r.Floods = l.floods(keys)
		}
		counted := make([]int64, len(keys))
		for j := range keys {
			counted[j] = keys[j].Counted
		}
		limits, knee := candidates(counted)
		proposed[i] = knee
		w.Limits = make([]Row, len(limits))
		touched := 0 // by the next higher limit
		for j, n := range slices.Backward(limits) {
			w.Limits[j] = Row{Limit: n, Knee: n == knee}
			capacity := make([]int64, len(r.Windows))
			capacity[i] = n
			above := l.try(capacity, &w.Limits[j].Outcome)
			if above > touched {
				w.Limits[j].First = &keys[touched]
			}
			touched = above
		}
		spikes := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Counted <= knee || k.Peak <= spikeFactor*k.Typical })
		slices.SortStableFunc(spikes, func(a, b Key) int { return cmp.Compare(b.Peak, a.Peak) })
		w.Spikes, w.Spiking = len(spikes), slices.Clone(spikes[:min(maxShown, len(spikes))])
	}
	r.fit(proposed)
	l.try(proposed, &r.Proposed)
	r.Rules, r.Warnings, err = l.write(proposed)
	return err
}

// fit drops the limits of windows of which the log covers too few periods, whose
// peaks are too low, but for the shortest window. It raises the others to twice the
// limit of a shorter window at least: less would be a limit in the shorter one.
func (r *Report) fit(capacity []int64) {
	order := make([]int, len(r.Windows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(r.Windows[i].Length, r.Windows[j].Length) })
	least := int64(0)
	for n, i := range order {
		if n > 0 && !r.Covers(Periods*r.Windows[i].Length) {
			capacity[i] = 0
			continue
		}
		capacity[i] = max(capacity[i], least)
		least = 2 * capacity[i]
	}
}

// floods returns those of the keys, by their peak, that are far above the others.
func (l *learner) floods(keys []Key) []Flood {
	all, others := []Flood{}, int64(len(keys)-1)
	usual := max(keys[len(keys)/10].Counted, leastUsual)
	for _, k := range keys {
		h := l.keys[k.Key]
		isLarge := 10*h.requests > l.report.Counted && h.requests*others > spikeFactor*(l.report.Counted-h.requests)
		if k.Counted <= spikeFactor*usual && !isLarge {
			continue
		}
		f := Flood{Key: k.Key, Requests: h.requests, Peak: k.Peak, Until: k.At, Statuses: map[string]int64{}}
		for class, n := range h.statuses {
			if class > 0 && n > 0 {
				f.Statuses[fmt.Sprint(class, "xx")] = n
			}
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b Flood) int { return cmp.Compare(b.Requests, a.Requests) })
	return all[:min(maxFloods, len(all))]
}

// try adds a rule with these capacities, 0 for no limit, to the second pass. It
// returns how many keys it touches.
func (l *learner) try(capacity []int64, o *Outcome) (touched int) {
	c := &limit.Charge{}
	for i, n := range capacity {
		if n > 0 {
			own := l.limits[i]
			own.Capacity = n
			c.Limits, c.Costs = append(c.Limits, own), append(c.Costs, 1)
		}
	}
	for _, h := range l.keys {
		for i, n := range capacity {
			if peak, _ := h.peaks.Peak(2*i + 1); n > 0 && peak > n {
				h.trials = append(h.trials, trial{charge: c, outcome: o, states: make([]limit.State, len(c.Limits))})
				touched++
				break
			}
		}
	}
	return touched
}

// predict decides a request of the second pass.
func (l *learner) predict(_ context.Context, e *logs.Entry) error {
	l.again.Count(e)
	if l.leftOut(e) != nil {
		return nil
	}
	l.sumAgain = l.sumWith(l.sumAgain, e)
	h := l.keys[string(l.key)]
	if h == nil {
		return errChanged
	}
	for i := range h.trials {
		t := &h.trials[i]
		if limit.Apply(t.states, nil, t.charge, e.Time, &l.verdict); l.verdict.Allowed {
			continue
		}
		if !t.denied {
			t.denied, t.outcome.Keys = true, t.outcome.Keys+1
		}
		t.outcome.Denied++
		if e.Status > 0 {
			t.outcome.WithStatus++
		}
		if e.Status/100 == 2 {
			t.outcome.Answered++
		}
	}
	return nil
}
