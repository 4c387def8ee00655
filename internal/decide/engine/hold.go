package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// repeatWithin is how long a decision that nothing can correct may be repeated by
// its ID, and charges once.
const repeatWithin = time.Minute

// openHold has the charge open a hold if it needs one: for a place in flight, or
// because a program that reserves corrects or repeats it. The first rule makes the ID
// of the decision. Each has its own of it, because rules may share a counter.
func (r *Resolution) openHold(reserve *request.Reserve, id *uint64) {
	c, i := &r.Charge, rules.InFlight(r.Charge.Limits)
	r.named = reserve != nil && reserve.ID != ""
	place := i >= 0 && !c.ZeroCost() && c.Costs[i] > 0
	switch {
	case place:
		c.Hold = limit.Opening{For: c.Limits[i].Window, Most: c.Limits[i].Capacity}
	case c.Lease > 0:
		return
	case r.correctable():
		c.Hold = limit.Opening{For: r.Rule.SettleWithin, Most: r.Rule.Reservations}
	case r.named && !c.ZeroCost():
		c.Hold = limit.Opening{For: repeatWithin, Most: r.Rule.Reservations}
	default:
		return
	}
	if reserve == nil && !place { // the counter only has to outlive the holds of others
		return
	}
	if *id == 0 {
		*id = holdID(reserve)
	}
	own := fnv.New64a()
	_, _ = own.Write([]byte(r.Rule.Name)) // never fails
	c.Hold.ID = max(1, *id^own.Sum64())
}

// place reports whether the charge takes a place in flight.
func (r *Resolution) place() bool {
	i := rules.InFlight(r.Charge.Limits)
	return i >= 0 && r.Charge.Hold.ID != 0 && r.Charge.Costs[i] > 0
}

// holdID returns the ID of a decision's holds, which is not 0.
func holdID(reserve *request.Reserve) uint64 {
	if reserve == nil || reserve.ID == "" {
		return max(1, rand.Uint64())
	}
	hash := sha256.Sum256([]byte(reserve.ID))
	return max(1, binary.BigEndian.Uint64(hash[:]))
}

// correctable reports whether an outcome can change the units of the charge.
func (r *Resolution) correctable() bool {
	for i := range r.Charge.Costs {
		if r.Terms.Settles(i) || len(r.Rule.RefundOn()) > 0 && fullRefund(&r.Charge, i, false) != 0 {
			return true
		}
	}
	return false
}

// disown leaves what an earlier decision of the same ID has charged to that one: it may
// be at work.
func (d *Decision) disown() {
	for v := range d.All() {
		if v.Before != nil {
			v.charged = notCharged
		}
	}
}

// take notes that the shared store has made the charge: now, or in an earlier call
// with the same ID, whose costs it then has.
func (v *Verdict) take() {
	v.charged = chargedShared
	if v.Before == nil {
		return
	}
	v.Charge.Costs = make([]int64, len(v.Before)) // others share those of the rule
	for i, took := range v.Before {
		v.Charge.Costs[i] = took.Units
	}
}
