package redis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// decide runs the script on the counters of some charges, and fills in the
// verdict of each.
func (s *Store) decide(ctx context.Context, mode byte, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	words, needs := make([]any, 3, 4+2*len(cs)), kinds(0)
	words[2] = len(cs)
	for _, c := range cs {
		if err := check(c); err != nil {
			return unwritten{err}
		}
		words = append(words, prefix+c.Key)
	}
	for _, c := range cs {
		var hold limit.Opening
		if c.Reserves() {
			hold = limit.Opening{ID: c.Hold.ID, For: c.Hold.For, Most: c.MostHolds()}
		}
		words = append(words, counter(now, c, s.opts.NewGeneration(), c.Costs, hold, &needs))
	}
	if common := common(mode, now, s.opts.CallerClock); common != nil {
		words = append(words, common)
	}
	taken := s.snapshots.start()
	reply, err := scriptOf(needs).run(ctx, s.client, words)
	if err != nil {
		return translate(err)
	}
	a, err := readAnswer(reply)
	a.holds = needs.any(inFlight)
	if err != nil {
		return err
	}
	allowed := true
	for i, c := range cs {
		if err := s.conclude(&a, c, vs[i], taken); err != nil && !a.charged {
			return unwritten{err}
		} else if err != nil {
			return err
		}
		if r := &vs[i].Receipt; r.Hold != 0 && !s.opts.CallerClock { // only the server knows its clock
			r.Until += now.UnixMilli() - a.now.UnixMilli()
		}
		allowed = allowed && vs[i].Allowed
	}
	if mode == modeCharge && a.charged != allowed || mode != modeCharge && a.charged {
		return errDisagree
	}
	return nil
}

// conclude fills in the verdict of the next charge of an answer, and caches the
// state if the next equal charge would be denied.
func (s *Store) conclude(a *answer, c *limit.Charge, v *limit.Verdict, taken snapshot) error {
	ct, err := a.counter(c)
	if err != nil {
		return err
	}
	if a.charged && !ct.verified(a.now, c) {
		return errDisagree
	}
	if a.charged && (ct.opened || !ct.before && slices.Max(c.Costs) > 0) {
		limit.AfterCharge(ct.states, ct.holds, ct.generation, c, a.now, v)
		v.ByHolds = c.Reserves() && !ct.opened
	} else {
		limit.Decide(ct.states, ct.holds, c, a.now, v)
	}
	if v.Before != nil && a.charged {
		v.Receipt.Generation = ct.generation
	}
	switch {
	case s.snapshots == nil:
	case ct.sums || v.Allowed && !exhausted(c, v):
		s.snapshots.drop(c.Key)
	default:
		taken.now, taken.states, taken.holds = a.now, ct.states, ct.holds
		s.snapshots.put(c.Key, taken)
	}
	return nil
}

// exhausted reports whether a charge has left too little for another one like
// it.
func exhausted(c *limit.Charge, v *limit.Verdict) bool {
	for i, cost := range c.Costs {
		if cost > v.Limits[i].Remaining {
			return true
		}
	}
	return false
}

// errDisagree is returned if the script and package limit decide differently on
// the same state. No state that the script wrote leads to it.
var errDisagree = errors.New("the script's decision contradicts the state that it returned")

// verified reports whether a counter's state is possible right after the charge.
// The counter must have a generation. Each charged limit must have at least the
// cost, and at most the limit's capacity. The charge's hold must be as the charge
// opens it, or open from one that was made before, or there was no place for it.
func (ct *counted) verified(now time.Time, c *limit.Charge) bool {
	var slots [limit.MaxLimits]int64
	place := false
	for i, cost := range c.Costs {
		l, s := &c.Limits[i], &ct.states[i]
		slots[i] = s.Current(l, now)
		switch {
		case cost == 0 || ct.before:
		case l.Algorithm == limit.InFlight:
			place = true
		case ct.generation == "" || !s.Consistent(l, now, cost):
			return false
		}
	}
	hold, live := ct.holds.Find(c.Hold.ID), ct.holds.Live(now)
	open := hold != nil && ct.holds.Over(c.Hold.ID, now) == nil
	switch {
	case !c.Reserves():
		return !ct.before && !ct.opened
	case ct.before:
		return open && !ct.sums
	case !ct.opened:
		return !open && live >= c.MostHolds() && !place
	}
	want := c.HoldAt(now, &slots)
	return hold != nil && hold.Opened == want.Opened && hold.End == want.End && slices.Equal(hold.Took, want.Took) && live <= c.MostHolds() && ct.generation != ""
}
