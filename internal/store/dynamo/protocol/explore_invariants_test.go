package protocol

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
)

// The invariants. A violation names its number.
//
//	I0  The item can be read after every write.
//	I1  No window has more units than the capacity that a charge in it was planned for; other algorithms keep their bounds.
//	I2  A caller denies by its snapshot only what the table would refuse too, if clocks agree and nothing was refunded.
//	I3  A snapshot of the current item denies no charge that the exact log has room for.
//	I4  Without other callers, a request has an outcome within two writes, and after enough quiet ticks it is admitted.
//	I5  A caller never takes another caller's charge for its own.
//	I6  Three attempts decide a request within one tick.

// admissions caches answers about charges that were made, and about callers
// without competition.
type admissions struct {
	admitted map[[2]uint32]admission
	alone    map[lonely]string
}

type admission struct {
	receipt uint32
	broken  string
}

// lonely is a caller without competition.
type lonely struct {
	item, snapshot  uint32
	clock, capacity int8
	quiet           bool // no request for long enough to be admitted
}

func newAdmissions() *admissions {
	return &admissions{map[[2]uint32]admission{}, map[lonely]string{}}
}

// admission returns the receipt of a charge that left its caller with a
// snapshot, and checks I5.
func (o *oracle) admission(w, snapshot uint32) (receipt uint32, broken string) {
	a := memo(o.admitted, [2]uint32{w, snapshot}, func([2]uint32) (a admission) {
		s, after := &o.writes.all[w], o.snapshots.all[snapshot]
		if err := after.Verify(s.of, s.now); err != nil {
			a.broken = "I5: " + err.Error()
		}
		var verdict limit.Verdict
		after.Admit(s.of, s.now, &verdict)
		a.receipt = o.receipt(bill{verdict.Receipt, [2]int8{s.marks[0].units, s.marks[1].units}})
		return a
	})
	return a.receipt, a.broken
}

// needless checks I3: a charge that a snapshot of the current item denies has
// no room in the exact log.
func (s *callers) needless(x *callersState, q question) string {
	l := &s.limits[q.capacity][0]
	if len(s.limits[q.capacity]) > 1 || l.Bucket() || l.Algorithm > limit.FixedWindow {
		return ""
	}
	q.snapshot = s.snapshotOf(x.item)
	used, cost := x.log.used(q.clock-int8(l.Slots())), int8(s.costs[q.cost][0])
	if s.decide(q) == denied && used+cost <= int8(l.Capacity) {
		return fmt.Sprintf("I3: needless denial at tick %d of %d units: the window has %d of %d", q.clock, cost, used, l.Capacity)
	}
	return ""
}

// wrong checks I2 for a denial.
func (s *callers) wrong(x *callersState, c *caller, q question) string {
	if s.skew > 0 || s.jumps > 0 || c.gen != x.gen {
		return ""
	}
	fresh, cold := q, q
	fresh.snapshot, cold.snapshot = s.snapshotOf(x.item), 0
	q.force, cold.force = true, true
	wrong := s.decide(fresh) != denied
	if s.refuses() {
		wrong = wrong || s.apply(x.item, s.decide(q), 1) != refused || s.apply(x.item, s.decide(cold), 1) != refused
	}
	if wrong {
		return fmt.Sprintf("I2: wrong local denial at tick %d", q.clock)
	}
	return ""
}

// refuses reports whether the table would refuse a charge that a caller rightly
// denies. It does not for a log, whose capacity no condition has.
func (s *scope) refuses() bool {
	return !slices.ContainsFunc(s.limits[0], func(l limit.Limit) bool { return l.Algorithm == limit.SlidingWindowLog })
}

// check checks I4 for each caller of a state.
func (s *callers) check(x *callersState) string {
	last := int8(0)
	for i := range s.callers {
		last = max(last, x.callers[i].clock)
	}
	for i := range s.callers {
		c := &x.callers[i]
		if c.jumped == 1 {
			continue
		}
		for _, snapshot := range []uint32{c.snapshot, 0} {
			l := lonely{x.item, snapshot, c.clock, c.capacity, false}
			if broken := s.left(l); broken != "" {
				return broken
			}
			if l.clock, l.quiet = last+s.quiet(), true; s.jumps == 0 {
				if broken := s.left(l); broken != "" {
					return broken
				}
			}
		}
	}
	return ""
}

// left checks I4 for a caller without competition.
func (o *oracle) left(l lonely) string { return memo(o.alone, l, o.run) }

func (o *oracle) run(l lonely) string {
	q := question{snapshot: l.snapshot, clock: l.clock, capacity: l.capacity, first: true, confirmed: true}
	for writes := 0; ; writes++ {
		w := o.decide(q)
		switch {
		case w <= failed && l.quiet:
			return fmt.Sprintf("I4: still denied at tick %d after %d quiet ticks", l.clock, o.quiet())
		case w <= failed:
			return ""
		case writes == 2:
			return fmt.Sprintf("I4: no outcome after two writes at tick %d without other callers", l.clock)
		case o.apply(l.item, w, 100) != refused:
			return ""
		}
		q.snapshot, q.first = o.snapshotOf(l.item), false
	}
}
