package suggest

import (
	"cmp"
	"context"
	"slices"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/logs"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

// maxShown is how many keys of a window are named.
const maxShown = 5

// spike is how many times its typical window a key's peak exceeds if it is one.
const spike = 10

// prediction is the second pass.
type prediction struct {
	*learner
	again     logs.Extent
	proposals []proposal
	failures  replay.Failures
}

// proposal is a rule whose outcome the second pass finds.
type proposal struct {
	capacity []int64 // of each window; 0 for no limit
	engine   *engine.Engine
	outcome  *Outcome
	touched  map[*history]bool
}

// choose completes the windows of the report but for the outcomes of their
// limits, which the second pass finds, and proposes the rule of their knees.
func (l *learner) choose() (*prediction, error) {
	p := &prediction{learner: l}
	r := &l.report
	proposed := make([]int64, len(r.Windows))
	for i := range r.Windows {
		w := &r.Windows[i]
		keys := l.byPeak(i)
		counted := make([]int64, len(keys))
		for j := range keys {
			counted[j] = keys[j].counted
		}
		slices.SortFunc(counted, func(a, b int64) int { return cmp.Compare(b, a) })
		limits := candidates(counted)
		at := knee(limits, counted)
		proposed[i] = limits[at]
		w.Limits = make([]Row, len(limits))
		for j, n := range limits {
			w.Limits[j] = Row{Limit: n, Knee: j == at, First: hitFirst(keys, n, limits[min(j+1, len(limits)-1)])}
			capacity := make([]int64, len(r.Windows))
			capacity[i] = n
			if _, _, err := p.add(capacity, &w.Limits[j].Outcome); err != nil {
				return nil, err
			}
		}
		spikes := slices.DeleteFunc(keys, func(k Key) bool { return k.Peak <= spike*k.Typical })
		w.Spikes, w.Spiking = len(spikes), slices.Clone(spikes[:min(maxShown, len(spikes))])
	}
	dropNeedless(r.Windows, proposed)
	text, set, err := p.add(proposed, &r.Proposed)
	if err != nil {
		return nil, err
	}
	r.Rules, r.Warnings = text, set.Warnings
	return p, nil
}

// dropNeedless drops limits that deny nothing which the limit of a longer window
// allows: what fills the shorter one fills the longer one.
func dropNeedless(windows []Window, capacity []int64) {
	for i, short := range windows {
		for j, long := range windows {
			if short.Length < long.Length && capacity[i] >= capacity[j] && capacity[j] > 0 {
				capacity[i] = 0
			}
		}
	}
}

// hitFirst returns the key with the highest peak of those that a limit touches
// and the next higher one does not; nil for none.
func hitFirst(keys []Key, limit, next int64) *Key {
	for _, k := range keys {
		if k.counted > limit && k.counted <= next {
			return &k
		}
	}
	return nil
}

// add adds a rule to the second pass, and returns the file that states it.
func (p *prediction) add(capacity []int64, outcome *Outcome) (string, *rules.Set, error) {
	text, set, err := p.write(capacity)
	if err != nil {
		return "", nil, err
	}
	p.proposals = append(p.proposals, proposal{
		capacity: capacity, outcome: outcome, touched: map[*history]bool{},
		engine: engine.New(engine.Options{
			Rules: engine.Fixed{Set: set}, Store: memory.NewSequential(maxKeys), Local: memory.New(0), Observer: &p.failures,
		}),
	})
	return text, set, nil
}

// predict decides a request of the second pass in each proposal that may deny one
// of its key.
func (p *prediction) predict(ctx context.Context, e *logs.Entry) error {
	p.again.Count(e)
	p.set.Locate(e.Request)
	p.key = p.rule.AppendKey(p.key[:0], e.Request)
	if p.leftOut(e) != nil {
		return nil
	}
	h := p.keys[string(p.key)]
	if h == nil {
		return errChanged
	}
	ctx = context.WithoutCancel(ctx) // a decision is finished
	for i := range p.proposals {
		t := &p.proposals[i]
		if !t.mayDeny(h) {
			continue
		}
		same := *e.Request // an engine changes its request
		d, err := t.engine.Decide(ctx, e.Time, &same)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(d.Shadows, func(v engine.Verdict) bool { return !v.Allowed }) {
			t.deny(h, e.Status)
		}
	}
	return nil
}

// mayDeny reports whether a limit is below the key's peak as the limit counts.
// At others it denies the key nothing (see peaks.Of).
func (t *proposal) mayDeny(h *history) bool {
	for i, n := range t.capacity {
		if peak, _ := h.peaks.Peak(2*i + 1); n > 0 && peak > n {
			return true
		}
	}
	return false
}

func (t *proposal) deny(h *history, status int) {
	o := t.outcome
	if !t.touched[h] {
		t.touched[h] = true
		o.Keys++
	}
	o.Denied++
	if status > 0 {
		o.WithStatus++
	}
	if status >= 200 && status < 300 {
		o.Answered++
	}
}
