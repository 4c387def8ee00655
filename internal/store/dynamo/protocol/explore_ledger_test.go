package protocol

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// ledger is the exact log of the units charged since the counter was last
// reset, for up to two limits.
type ledger struct {
	// units by tick: those charged to the slot, or with the time stamp, that
	// starts at the tick. For a bucket it is 1 more than all units charged from
	// the tick's first charge on; 0 if the tick has no charge.
	units  [2][20]int8
	latest [2]int8 // of a weighted window: the latest tick at which a charge was decided
}

// charge logs a charge and checks I1.
func (b *ledger) charge(limits []limit.Limit, m *marks) string {
	broken := ""
	for i := range limits {
		if m[i].units == 0 {
			continue
		}
		if problem := b.chargeOne(i, &limits[i], &m[i]); problem != "" {
			broken = "I1: " + problem
		}
	}
	return broken
}

func (b *ledger) chargeOne(i int, l *limit.Limit, m *mark) string {
	if l.Bucket() {
		return b.fill(i, l, m)
	}
	b.units[i][m.at] += m.units
	switch l.Algorithm {
	case limit.SlidingWindowCounter:
		b.latest[i] = max(b.latest[i], m.effective)
		return b.estimate(i, l, m)
	case limit.SlidingWindowLog:
		return b.windows(i, int8(l.Window/tick), m)
	}
	return b.windows(i, int8(l.Slots())+1, m)
}

// windows checks every window of width ticks that contains the charge.
func (b *ledger) windows(i int, width int8, m *mark) string {
	for first := m.at - width + 1; first <= m.at; first++ {
		var used int8
		for at := max(0, first); at < first+width && int(at) < len(b.units[i]); at++ {
			used += b.units[i][at]
		}
		if used > m.capacity {
			return fmt.Sprintf("%d units in ticks %d to %d, capacity %d", used, first, first+width-1, m.capacity)
		}
	}
	return ""
}

// estimate checks the weighted estimate at the latest tick at which a charge
// was decided. After that tick the estimate only falls.
func (b *ledger) estimate(i int, l *limit.Limit, m *mark) string {
	width := int8(l.Window / tick)
	start := b.latest[i] / width * width
	used := int(b.units[i][start]) * int(width)
	if start >= width {
		used += int(b.units[i][start-width]) * int(width-(b.latest[i]-start))
	}
	if used > int(m.capacity)*int(width) {
		return fmt.Sprintf("an estimate of %d/%d at tick %d, capacity %d", used, width, b.latest[i], m.capacity)
	}
	return ""
}

// fill checks a bucket: the units of consecutive charges refill within the time
// from the first to the last of them, plus the time that a whole bucket takes.
// That also bounds charges by a clock that is behind.
func (b *ledger) fill(i int, l *limit.Limit, m *mark) string {
	if b.units[i][m.at] == 0 {
		b.units[i][m.at] = 1
	}
	for first, u := range b.units[i] {
		if u == 0 {
			continue
		}
		b.units[i][first] += m.units
		units := int(b.units[i][first]) - 1
		if time.Duration(units)*l.Interval() > l.Drain()+moment(m.at).Sub(moment(int8(first))) {
			return fmt.Sprintf("%d units from tick %d to %d, burst %d", units, first, m.at, m.capacity)
		}
	}
	return ""
}

// correct logs a settlement.
func (b *ledger) correct(m *marks) {
	for i := range m {
		b.units[i][m[i].at] = max(0, b.units[i][m[i].at]+m[i].units)
	}
}

// contains reports whether every unit that a settlement refunds was charged to
// its slot.
func (b *ledger) contains(m *marks) bool {
	return b.units[0][m[0].at]+m[0].units >= 0 && b.units[1][m[1].at]+m[1].units >= 0
}

// used returns the units charged to slots that begin at a tick or later.
func (b *ledger) used(from int8) (units int8) {
	for at := max(0, from); int(at) < len(b.units[0]); at++ {
		units += b.units[0][at]
	}
	return units
}

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

// current returns a receipt as the counter of an item has it.
func (o *oracle) current(i, receipt uint32) (current uint32, known bool) {
	b := o.receipts.all[receipt]
	r := o.snapshots.all[o.snapshotOf(i)].Current(&b.Receipt)
	if r == nil {
		return 0, false
	}
	return o.receipt(bill{*r, b.units}), true
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
