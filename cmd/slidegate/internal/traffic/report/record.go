package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// mostKeys bounds the keys in memory: each takes about 300 bytes, 8 for each request
// in the longest window, and a counter for each set of limits. Requests of later keys
// are counted as the rules decided them, in the totals alone.
const mostKeys = 100_000

// Recording is what a page shows of a replay beside its totals. Options.Seen of
// the replay fills it in.
type Recording struct {
	Set     *rules.Set  // of the replay
	Own     Scenario    // the rules of the replay; its Engine is nil
	Others  []*Scenario // in the order of Variants
	Left    []Variant   // that do not compile
	keys    map[id]*key // of rules and their keys
	rules   map[string]*rule
	scratch request.Request // the copy that an engine may change
	MaxKeys int             // that are kept
	unkept  int64           // requests of later keys
}

// Scenario is one set of rules and the counts of its decisions.
type Scenario struct {
	Name     string
	Engine   replay.Decider
	Writes   *Counted // nil if the writes are not counted
	OverTime replay.OverTime
	Totals   replay.Counts
	Hits     Hits
	Degraded int64 // decided by on_error: the scenario says nothing
	denied   map[id]struct{}
}

// Hits are the denials, and those that would be, of requests whose answer the
// log has.
type Hits struct {
	Known    int64 // with a status
	Answered int64 // of these: with 2xx
}

func (h *Hits) add(status int) {
	if status > 0 {
		h.Known++
	}
	if status/100 == 2 {
		h.Answered++
	}
}

type id struct{ rule, key string }

// rule is what a recording has of a rule.
type rule struct {
	*rules.Rule
	windows []replay.PeakWindow
	limits  []int // of Rule.Limits, for each of windows
	over    replay.OverTime
	hits    Hits
	keys    int64
}

// key is what a recording has of a key.
type key struct {
	counts   replay.Counts
	peaks    replay.Peaks
	capacity []int64 // of each of the rule's windows, at the last request; 0 for none
}

// NewRecording returns a recording without scenarios.
func NewRecording(set *rules.Set) *Recording {
	return &Recording{Set: set, Own: Scenario{Name: AsItIs}, keys: map[id]*key{}, MaxKeys: mostKeys, rules: map[string]*rule{}}
}

// Seen records a request.
func (r *Recording) Seen(ctx context.Context, e *logs.Entry, sent *request.Request, d *engine.Decision) error {
	r.Own.count(e, d)
	kept := true
	for v := range d.All() {
		kept = r.verdict(e, v) && kept
	}
	if !kept {
		r.unkept++
	}
	for _, s := range r.Others {
		if !kept {
			s.count(e, d)
			continue
		}
		r.scratch = *sent // an engine changes its request
		decided, err := s.Engine.Decide(ctx, e.Time, &r.scratch)
		if err != nil {
			return err
		}
		s.count(e, decided)
	}
	return nil
}

func (s *Scenario) count(e *logs.Entry, d *engine.Decision) {
	would := d.WouldDeny()
	s.Totals.Add(d.Allowed, would)
	s.OverTime.At(e.Time).Add(d.Allowed, would)
	if !d.Allowed || would {
		s.Hits.add(e.Status)
	}
	if d.Degraded {
		s.Degraded++
	}
	for v := range d.All() {
		if !v.Allowed && len(s.denied) < mostKeys {
			if s.denied == nil {
				s.denied = map[id]struct{}{}
			}
			s.denied[id{v.Rule.Name, v.Key}] = struct{}{}
		}
	}
}

// verdict counts a rule's verdict, and reports whether the rule's key is kept.
func (r *Recording) verdict(e *logs.Entry, v *engine.Verdict) bool {
	of := r.rules[v.Rule.Name]
	if of == nil {
		of = newRule(v.Rule)
		r.rules[v.Rule.Name] = of
	}
	shadow := !v.Rule.Enforced()
	allowed, would := v.Allowed || shadow, shadow && !v.Allowed
	of.over.At(e.Time).Add(allowed, would)
	if !v.Allowed {
		of.hits.add(e.Status)
	}
	k := r.keys[id{v.Rule.Name, v.Key}]
	if k == nil {
		if len(r.keys) == r.MaxKeys {
			return false
		}
		of.keys++
		k = &key{capacity: make([]int64, len(of.windows))}
		r.keys[id{v.Rule.Name, v.Key}] = k
	}
	k.counts.Add(allowed, would)
	if len(of.windows) > 0 {
		k.peaks.Add(of.windows, e.Time)
	}
	for i, l := range of.limits {
		k.capacity[i] = capacity(v.Terms, &of.Limits[l])
	}
	return true
}

// newRule returns a rule with the windows whose peaks say something of its
// limits: those in which every request costs one unit.
func newRule(r *rules.Rule) *rule {
	of := &rule{Rule: r}
	for i := range r.Limits {
		if c := r.Costs[i]; c.Min == 1 && c.Max == 1 {
			of.windows, of.limits = append(of.windows, replay.ExactWindow(r.Limits[i].Window)), append(of.limits, i)
		}
	}
	return of
}

// capacity returns what the terms have in place of a limit; 0 if nothing of the
// same window, as with an override.
func capacity(t *rules.Terms, l *limit.Limit) int64 {
	i := slices.IndexFunc(t.Limits, func(other limit.Limit) bool { return other.Name == l.Name && other.Window == l.Window })
	if i < 0 || t.Denied {
		return 0
	}
	return t.Limits[i].Capacity
}

// Counted is a store that counts the writes that DynamoDB would get. It is for
// one goroutine. The store below decides; one in memory proves every denial
// without a charge, as a snapshot of DynamoDB's last answer nearly always does.
type Counted struct {
	limit.Store
	set    *rules.Set
	writes map[string]float64 // charges and refunds, by the first word of their keys
}

// Count counts the writes of these rules to a store.
func Count(store limit.Store, set *rules.Set) *Counted {
	return &Counted{store, set, map[string]float64{}}
}

func (s *Counted) count(c *limit.Charge) {
	if !c.ZeroCost() {
		counter, _, _ := strings.Cut(c.Key, "|")
		s.writes[counter]++
	}
}

// Charge implements limit.Store.
func (s *Counted) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	err := s.Store.Charge(ctx, now, c, v)
	if err == nil && v.Allowed {
		s.count(c)
	}
	return err
}

// ChargeAll implements limit.Store.
func (s *Counted) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	err := s.Store.ChargeAll(ctx, now, cs, vs)
	if err != nil || slices.ContainsFunc(vs, func(v *limit.Verdict) bool { return !v.Allowed }) {
		return err
	}
	for _, c := range cs {
		s.count(c)
	}
	return nil
}

// Settle implements limit.Store.
func (s *Counted) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	s.count(c)
	return s.Store.Settle(ctx, now, c, r, deltas)
}

// Traffic returns the traffic of a month that has so many times what was
// counted.
func (s *Counted) Traffic(requests, denied, times float64) *cost.Traffic {
	return cost.TrafficOf(requests, denied, s.set, func(counter string) float64 { return s.writes[counter] * times })
}
