package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Unsettled stands in Pending.MaxCosts for a limit that does not settle.
const Unsettled = -1

// Pending is a charge that the backend's answer may correct, or that has a place
// in flight to give back. It is plain data, by which another process can settle:
// it needs the store, and no rules.
type Pending struct {
	Rule    string // its name
	Charge  limit.Charge
	Receipt limit.Receipt
	// Refunds are the statuses for which the rule takes nothing.
	Refunds []rules.Statuses
	// MaxCosts holds, for each limit that settles, the cost charged if the
	// response is cut off; Unsettled for others. Where a request of 500 tokens
	// may settle at up to 4,000, it is 4,000.
	MaxCosts [limit.MaxLimits]int64
	// Weights are, for each limit that settles, what usage costs; nil for a
	// limit that only a reported cost settles.
	Weights [limit.MaxLimits]rules.Weights
}

// Pending returns the charges of an allowed request that its outcome may correct,
// or that have a place in flight, and that the shared store has made. What this
// process counted by itself, no other can correct. Neither can a program correct
// by a receipt what has no hold, because the counter has too many.
func (d *Decision) Pending() (all []Pending) { return d.pending(false) }

// pending is Pending, also of what this process counted by itself if local.
func (d *Decision) pending(local bool) (all []Pending) {
	if !d.Allowed {
		return nil
	}
	for v := range d.All() {
		if p, ok := v.pending(); ok && (v.charged == chargedShared || local && v.charged == chargedLocally) {
			all = append(all, p)
		}
	}
	return all
}

// pending returns what an outcome may correct of the rule's charge; ok is false
// if no outcome can, and no place is to be given back.
func (v *Verdict) pending() (p Pending, ok bool) {
	p = Pending{Rule: v.Rule.Name, Charge: v.Charge, Receipt: v.Receipt, Refunds: v.Rule.RefundOn()}
	for i := range v.Charge.Costs {
		p.MaxCosts[i] = Unsettled
		if v.Terms.Settles(i) {
			p.MaxCosts[i], p.Weights[i] = v.Terms.MostCost(i), v.Terms.Weights(i)
		}
	}
	lacksHold := v.Charge.Hold.ID != 0 && v.Receipt.Hold == 0
	return p, (v.place() || v.correctable()) && !lacksHold
}

// Pends reports whether an outcome can correct the charge of the rule, or has its
// place in flight to give back.
func (v *Verdict) Pends() bool { return v.place() || v.correctable() }

// Settle corrects the charge by the outcome, and closes its hold: one write, or
// none if there is neither. It fails with limit.ErrClosed if the hold is gone, and
// with limit.ErrReset if the counter is. CheckUsage must have found no error.
func (p *Pending) Settle(ctx context.Context, now time.Time, store limit.Store, observer Observer, o *Outcome) error {
	deltas := p.deltas(o)
	if deltas == nil {
		return nil
	}
	return observe(ctx, observer, correctionCall(&p.Charge, deltas), func() error { return store.Settle(ctx, now, &p.Charge, &p.Receipt, deltas) })
}

// deltas returns the units by which the outcome corrects each limit; nil if
// there is nothing to correct or to close.
func (p *Pending) deltas(o *Outcome) []int64 {
	return deltasBy(&p.Charge, &p.Receipt, func(i int) int64 {
		cost, _ := p.Cost(i, o)
		return cost - p.Charge.Costs[i]
	})
}

// Cost returns what the request costs limit i by the outcome, in units; corrected
// is false for a charge that stays.
func (p *Pending) Cost(i int, o *Outcome) (cost int64, corrected bool) {
	charged := p.Charge.Costs[i]
	if rules.Among(p.Refunds, o.Status) {
		refund := fullRefund(&p.Charge, i, false)
		return charged + refund, refund != 0
	}
	if p.MaxCosts[i] == Unsettled {
		return charged, false
	}
	cost, reported := o.Costs[p.PolicyName(i)]
	if p.Weights[i] != nil && len(o.Usage) > 0 {
		var wrong *UsageError
		cost, wrong = weigh(p.Weights[i], o.Usage)
		reported = wrong == nil
	}
	if !reported && o.Aborted {
		cost, reported = p.MaxCosts[i], true
	}
	if !reported || cost < 0 {
		return charged, false
	}
	return charged + correction(&p.Charge, i, cost), true
}

// InFlight reports whether the charge has a place in flight.
func (p *Pending) InFlight() bool { return p.Receipt.Hold != 0 && rules.InFlight(p.Charge.Limits) >= 0 }

// Renew moves the end of the charge's hold. It fails as Settle does.
func (p *Pending) Renew(ctx context.Context, now time.Time, store limit.Store, observer Observer) error {
	return observe(ctx, observer, CallRenew, func() error { return store.Renew(ctx, now, &p.Charge, &p.Receipt) })
}

// Key returns what the rule counts by.
func (p *Pending) Key() string {
	_, key, _ := strings.Cut(p.Charge.Key, "|") // rule|key|shape
	return key[:max(0, strings.LastIndexByte(key, '|'))]
}

// PolicyName returns the name by which clients know limit i.
func (p *Pending) PolicyName(i int) string { return PolicyName(p.Rule, p.Charge.Limits[i].Name) }

// correction returns the units by which the charge of limit i differs from the
// actual ones, as far as a store can charge more.
func correction(c *limit.Charge, i int, actual int64) int64 {
	return min(actual-c.Costs[i], limit.MaxCapacity)
}

// fullRefund returns the units that undo the charge of limit i. A token bucket or
// a log cannot refund; its charge stays. So does that of a leaky bucket, unless
// the request has not gone on, and its turn is unused.
func fullRefund(c *limit.Charge, i int, unused bool) int64 {
	if l := &c.Limits[i]; !l.Correctable() && (!unused || l.Algorithm != limit.LeakyBucket) {
		return 0
	}
	return -c.Costs[i]
}

// correctionCall returns the name of the call that corrects a charge by deltas.
func correctionCall(c *limit.Charge, deltas []int64) string {
	if !slices.ContainsFunc(deltas, func(delta int64) bool { return delta != 0 }) {
		return CallClose
	}
	for i, delta := range deltas {
		if delta != -c.Costs[i] && delta != fullRefund(c, i, false) {
			return CallSettle
		}
	}
	return CallRefund
}

// deltasBy returns the delta of each limit; nil if all are 0, and the receipt has
// no hold to close.
func deltasBy(c *limit.Charge, r *limit.Receipt, delta func(i int) int64) []int64 {
	var all [limit.MaxLimits]int64
	for i := range c.Costs {
		all[i] = delta(i)
	}
	if r.Hold == 0 && all == [limit.MaxLimits]int64{} {
		return nil
	}
	return slices.Clone(all[:len(c.Costs)])
}
