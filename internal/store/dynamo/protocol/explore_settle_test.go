package protocol

import "github.com/slidegate/slidegate/internal/limit"

// corrections caches answers about settlements.
type corrections struct {
	receipts interned[bill, bill]
	settled  map[correction]uint32
}

// bill is the receipt of a charge and its costs.
type bill struct {
	limit.Receipt
	units [2]int8
}

// correction is a settlement that a caller has to make.
type correction struct {
	snapshot, receipt      uint32
	clock, capacity, delta int8
}

func newCorrections() *corrections {
	return &corrections{newInterned[bill, bill](1), map[correction]uint32{}}
}

func (o *oracle) receipt(b bill) uint32 {
	return o.receipts.number(b, func() bill { return b })
}

// freeReceipt returns the receipt of a charge of zero cost.
func (o *oracle) freeReceipt(snapshot uint32, clock, capacity int8) uint32 {
	var verdict limit.Verdict
	o.snapshots.all[snapshot].Decide(o.charge(capacity, 0), moment(clock), &verdict)
	return o.receipt(bill{Receipt: verdict.Receipt})
}

// within reports whether a charge took at least the units that a settlement
// refunds.
func (o *oracle) within(receipt uint32, delta int8) bool {
	b := &o.receipts.all[receipt]
	for i, d := range o.deltas[delta] {
		if d+int64(b.units[i]) < 0 {
			return false
		}
	}
	return true
}

// settle returns the write that corrects a charge; 0 if nothing can be
// corrected any more.
func (o *oracle) settle(c correction) uint32 { return memo(o.settled, c, o.planSettlement) }

func (o *oracle) planSettlement(c correction) uint32 {
	of, now, deltas := o.charge(c.capacity, 0), moment(c.clock), o.deltas[c.delta]
	s, r := o.snapshots.all[c.snapshot], o.receipts.all[c.receipt].Receipt
	update := func(generation string) *Update { return PlanSettlement(s, of, &r, deltas, now, now, generation) }
	x := update("created")
	if x == nil {
		return 0
	}
	w := sent{kind: settling, of: of, now: now, snapshot: s, update: update}
	for i, delta := range deltas {
		m, slot := &w.marks[i], r.Slots[i]
		if delta > 0 {
			slot = valueOf(x, ":"+prefixOf(i)+"q")
		}
		w.refunds = w.refunds || delta < 0
		*m = mark{units: int8(delta), at: ticksOf(&of.Limits[i], slot)}
	}
	return o.sent(w)
}

func valueOf(x *Update, name string) int64 {
	n, err := readNumber(name, x.values[name])
	if err != nil {
		panic(err)
	}
	return n
}
