package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Terms are the effective limits and costs of a rule for one request, after the
// caller's plan and the key's override.
type Terms struct {
	Limits []limit.Limit
	Costs  []int64
	// Checked says that the limits are known to be valid: those of documents are
	// checked once, and others by the store.
	Checked  bool
	Override *Override // that was looked up for the key, in force or not; nil for none
	// Err says why the override that operators have set could not be read. The
	// document's own applies.
	Err error
	// Unlimited and Denied are decided by an override or a plan: then no
	// counter is charged.
	Unlimited, Denied bool
	Why               string // the reason of the override that decides, for people
	// Stale says that something of the override no longer fits the rule and was
	// ignored: the rule has changed since, or the override would loosen a rule
	// whose keys the client fills in.
	Stale bool

	costs      []Cost
	suffix     string // of the names of counters
	candidates []Candidate
	own        bool // the capacities are the rule's
	replaced   bool // the limits are an override's
}

// Candidate is a capacity to try: decisions report what it would change. Units
// count only with the rule's own capacity, a percentage with any.
type Candidate = ruledoc.Candidate

// anchor says where the first day of a limit's months comes from.
type anchor struct {
	limit int // its index
	from  key.Part
	day   int // of requests that state none
}

// Terms returns the effective limits for a request of a caller on this plan (""
// for none), whose key has this override (nil for none). Each capacity is the
// override's, else the plan's, else the rule's own. Grants are added to it.
//
// Example: a rule allows 100 units, and 6,000 on plan pro. A key on pro with a
// grant of 500 has 6,500. With an override to 20,000 as well, it has 20,500.
//
// Requests share terms that were compiled, so the caller must not change them.
func (r *Rule) Terms(req *request.Request, plan string, o *Override, now time.Time) *Terms {
	compiled := &r.own
	if p := r.plans[plan]; p != nil {
		compiled = p
	}
	if o == nil && r.fixed != nil && len(r.anchors) == 0 {
		return compiled
	}
	t := *compiled
	t.apply(r, req, o, now)
	return &t
}

// apply applies the override, grants and costs of one request to the terms of
// its plan. A key that is denied or unlimited has no costs.
func (t *Terms) apply(r *Rule, req *request.Request, o *Override, now time.Time) {
	costs, fixed := r.Costs, r.fixed
	t.Override = o
	t.costs, t.Costs, t.Checked = nil, nil, false // of a key without limits
	if o.InForce(now) {
		t.override(r, o)
		if t.replaced {
			costs, fixed = r.costs(o), nil
		}
	}
	if t.Unlimited || t.Denied {
		return
	}
	if o != nil && len(o.Grants) > 0 {
		t.grant(r, o.Grants, now)
	}
	if len(r.anchors) > 0 && !t.replaced {
		t.anchor(r.anchors, req)
	}
	if fixed == nil {
		fixed = make([]int64, len(costs))
		for i := range costs {
			fixed[i] = costs[i].of(req, t.Limits[i].MaxCost())
		}
	}
	t.costs, t.Costs = costs, fixed
}

// MostCost returns the largest cost that a request may state for limit i.
func (t *Terms) MostCost(i int) int64 {
	most := t.costs[i].Max
	if t.costs[i].Clamp {
		most = min(most, t.Limits[i].MaxCost())
	}
	return most
}

// Settles reports whether the backend reports the true cost of limit i
// afterwards.
func (t *Terms) Settles(i int) bool { return i < len(t.costs) && t.costs[i].Settle }

// Weights returns the weights of usage for a limit that settles; nil for none.
func (t *Terms) Weights(i int) Weights { return t.costs[i].Weights }

// override applies an override that is in force. Limits replace all of the rule's,
// and a capacity replaces one number. A rule whose keys the client fills in takes
// only what restricts it, and no capacity above its plan's.
func (t *Terms) override(r *Rule, o *Override) {
	switch {
	case o.Deny:
		t.Denied, t.Why = true, o.Why
	case o.Unlimited, o.Limits != nil:
		if r.restrictOnly {
			t.Stale = true
			return
		}
		if t.Unlimited = o.Unlimited; o.Limits != nil {
			t.Limits, t.suffix, t.candidates, t.replaced = o.Limits, o.suffix, nil, true
		}
		t.own, t.Why = false, o.Why
	case len(o.Capacity) > 0:
		limits := slices.Clone(t.Limits)
		for name, capacity := range o.Capacity {
			i := limitNamed(r.Limits, name)
			if i < 0 {
				t.Stale = true
				continue
			}
			if r.restrictOnly && !t.Unlimited {
				capacity = min(capacity, limits[i].Capacity)
			}
			t.raise(limits, i, capacity)
		}
		t.Limits, t.Unlimited, t.own, t.Why = limits, false, false, o.Why
	}
}

// grant adds the grants that have not ended.
func (t *Terms) grant(r *Rule, grants []Grant, now time.Time) {
	t.Limits = slices.Clone(t.Limits)
	for _, g := range grants {
		if !now.Before(g.Until) {
			continue
		}
		i := limitNamed(t.Limits, g.Limit)
		if i < 0 || r.restrictOnly {
			t.Stale = true
			continue
		}
		t.raise(t.Limits, i, min(t.Limits[i].Capacity+min(g.Add, limit.MaxCapacity), limit.MaxCapacity))
		t.own = false
	}
}

// raise gives a limit another capacity, and a bucket another size if that
// follows the capacity. A capacity that the algorithm cannot count is ignored.
func (t *Terms) raise(limits []limit.Limit, i int, capacity int64) {
	l := withCapacity(limits[i], capacity)
	if !l.Valid() {
		t.Stale = true
		return
	}
	limits[i] = l
}

// withCapacity returns the limit with another capacity. The size of a bucket
// follows if it was the old capacity.
func withCapacity(l limit.Limit, capacity int64) limit.Limit {
	if l.Bucket() && l.Burst == l.Capacity {
		l.Burst = capacity
	}
	l.Capacity = capacity
	return l
}

// costs returns what a request takes from the limits of an override: the
// override's costs, else the rule's. Only what can be corrected settles.
func (r *Rule) costs(o *Override) []Cost {
	costs := make([]Cost, len(o.Costs))
	for i := range o.Costs {
		costs[i] = r.inherit(o.Costs[i], o.Limits[i].Name)
		costs[i].Settle = costs[i].Settle && o.Limits[i].Correctable()
	}
	return costs
}

// inherit returns the cost of an override's limit. A limit without a cost has
// that of the rule's limit of the same name, else the rule's own.
func (r *Rule) inherit(c Cost, name string) Cost {
	if !c.inherited {
		return c
	}
	own := r.cost
	if i := limitNamed(r.Limits, name); i >= 0 {
		own = r.Costs[i]
	}
	own.Clamp = c.Clamp
	return own
}

// anchor moves the windows of calendars to the day that the request states.
func (t *Terms) anchor(anchors []anchor, req *request.Request) {
	t.Limits = slices.Clone(t.Limits)
	for _, a := range anchors {
		l := &t.Limits[a.limit]
		calendar := *l.Calendar
		calendar.Anchor = a.day
		l.Calendar = &calendar
		text, _ := a.from.Value(req)
		if day, err := strconv.Atoi(text); err == nil {
			setAnchor(l, day) // a wrong day leaves the default
		}
	}
	t.suffix = suffix(t.Limits)
}

// Candidate returns the capacity to try for limit i; ok is false for none.
func (t *Terms) Candidate(i int) (capacity int64, ok bool) {
	if i >= len(t.candidates) {
		return 0, false
	}
	switch c := t.candidates[i]; {
	case c.Percent > 0:
		return min(max(1, t.Limits[i].Capacity*c.Percent/100), limit.MaxCapacity), true
	case c.Units > 0 && t.own:
		return c.Units, true
	}
	return 0, false
}

// Item returns the name of the counter for a key that AppendKey made: rule, key
// and shape.
func (r *Rule) Item(key string, t *Terms) string { return r.prefix + key + t.suffix }

// limitNamed returns the index of a limit; -1 for none. The name "" stands for
// the only limit, whatever its name.
func limitNamed(limits []limit.Limit, name string) int {
	if name == "" && len(limits) == 1 {
		return 0
	}
	return slices.IndexFunc(limits, func(l limit.Limit) bool { return l.Name == name })
}

// Cost says what a request takes from a limit: Min to Max units, which are the
// same unless the request states its cost.
//
// Example: the cost comes from header.x-tokens, from 500 to 4,000. A request with
// the value 700 takes 700 units, one with 9 takes 500, and one without the header
// takes 4,000.
type Cost struct {
	Min, Max int64
	Clamp    bool // a cost above what the limit can ever allow takes all of it
	Settle   bool // the backend reports the true cost afterwards
	Weights  Weights

	from      key.Part // where the request states it; a literal for a fixed cost
	inherited bool     // of an override's limit without a cost: the rule's counts
}

// Weights are what each unit of a usage costs, by the backend's names for it, in
// millionths of a limit's unit: 0.1 units for each input token are 100,000. Nil
// says that no usage settles the limit.
type Weights map[string]int64

// OtherUsage is the name of the weight that all names have without one of their
// own.
const OtherUsage = "other"

// Millionths are the parts of a unit that weights count.
const Millionths = 1_000_000

// MaxWeight is the highest weight, in millionths.
const MaxWeight = 1_000_000_000 * Millionths

// parseWeight reads a weight such as 0.1. It refuses signs, exponents and more
// than six decimals, so that no weight is rounded.
func parseWeight(text string) (millionths int64, ok bool) {
	whole, decimals, _ := strings.Cut(text, ".")
	if len(decimals) > 6 || !json.Valid([]byte(text)) {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+decimals+strings.Repeat("0", 6-len(decimals)), 10, 63)
	return int64(n), err == nil && n <= MaxWeight
}

// Fixed returns a cost that is the same for every request.
func Fixed(units int64) Cost { return Cost{Min: units, Max: units} }

// unpayable reports whether every request costs more than a limit of this size
// can ever allow.
func (c *Cost) unpayable(most int64) bool { return !c.Clamp && c.Min > most }

// of returns what the request takes from a limit of this size. A stated cost
// that is missing, repeated or unreadable counts as the largest that may be
// stated, so that a client gains nothing by sending an unreadable one.
func (c *Cost) of(req *request.Request, most int64) int64 {
	units := c.Max
	if c.from.Kind == key.FromRootFields { // whose number counts
		units = max(c.Min, min(c.Max, req.Operation.Count))
	} else if text, _ := c.from.Value(req); text != "" {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil {
			units = max(c.Min, min(c.Max, int64(n)))
		}
	}
	if c.Clamp {
		units = min(units, most)
	}
	return units
}

// Source says where a request states its cost, such as "header.x-tokens"; "" for
// a fixed cost.
func (c *Cost) Source() string { return c.from.String() }

// ClientStated reports whether the client states the cost.
func (c *Cost) ClientStated() bool { return c.from.Kind.IsClient() }
