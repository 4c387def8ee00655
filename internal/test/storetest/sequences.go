package storetest

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// Few has the rest of a test run n random sequences of each kind instead of
// -rapid.checks, for stores whose calls cost a round trip.
func Few(t *testing.T, n int) {
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	t.Cleanup(func() { _ = checks.Set(before) })
	_ = checks.Set(strconv.Itoa(n))
}

// sequences compares a store with the reference on random sequences of calls.
func sequences(t *testing.T, h Harness) {
	for round := range max(1, h.Rounds) {
		t.Run(fmt.Sprint("one client ", round), rapid.MakeCheck(oneClient(h, h.Client(t))))
		t.Run(fmt.Sprint("clients in turn ", round), rapid.MakeCheck(inTurn(h, h.Client(t), h.Client(t), h.Client(t))))
	}
}

// oneClient makes any calls in any order: every answer must be the reference's.
func oneClient(h Harness, store limit.Store) func(*rapid.T) {
	return func(t *rapid.T) {
		w := newWalk(t, h, store)
		t.Repeat(map[string]func(*rapid.T){ // charges twice as often as the rest
			"charge": func(*rapid.T) { w.keep(w.charge(w.clock(), w.costs()...)) },
			"again":  func(*rapid.T) { w.keep(w.charge(w.clock(), w.costs()...)) },
			"peek":   func(*rapid.T) { w.peek(w.clock(), w.costs()...) },
			"denies": func(*rapid.T) { w.denies(w.clock(), w.costs()...) },
			"settle": func(t *rapid.T) { w.correct(t, true) },
			"renew":  func(t *rapid.T) { w.renewOne(t) },
			"resize": func(t *rapid.T) { w.resize(min(w.units(t, 1, 9), limit.MaxCapacity)) },
			"reset":  func(t *rapid.T) { w.rarelyReset(t) },
			"group":  func(*rapid.T) { w.both() },
		})
	}
}

// inTurn has several clients, whose clocks agree, charge one after another. A
// lagging client may deny by an old snapshot. Its denial must still be correct,
// because units are only ever added.
func inTurn(h Harness, stores ...limit.Store) func(*rapid.T) {
	return func(t *rapid.T) {
		w := newWalk(t, h, stores[0])
		w.lagging = h.Lag > 0
		w.late = 0
		by := func(t *rapid.T) { w.by(rapid.SampledFrom(stores).Draw(t, "client")) }
		t.Repeat(map[string]func(*rapid.T){
			"charge":    func(t *rapid.T) { by(t); w.keep(w.charge(w.clock(), w.costs()...)) },
			"peek":      func(t *rapid.T) { by(t); w.peek(w.clock(), w.costs()...) },
			"settle up": func(t *rapid.T) { by(t); w.correct(t, false) },
			"renew":     func(t *rapid.T) { by(t); w.renewOne(t) },
		})
	}
}

// walk is a pair with a random rule, whose clock advances at random too.
type walk struct {
	*pair
	other *pair // a second key, for charges of both
	t     *rapid.T
	unit  int64         // by which capacities, costs and corrections are multiplied
	at    time.Duration // of the clock, since the start
	wait  time.Duration // the latest retry-after
	late  time.Duration // how far a call may be behind the clock
	made  []*made
	holds bool                     // whether charges open any
	until map[uint64]time.Duration // when holds that were not closed lose their places
}

// made is a charge that can be corrected.
type made struct {
	*answer
	at         time.Duration // of the clock
	refundable []int64       // units that can still be refunded, by limit
}

var starts = []time.Time{
	epoch,
	time.Unix(86400, 0),
	time.Date(2024, time.March, 30, 22, 0, 0, 0, time.UTC),  // an hour before a short day in Berlin
	time.Date(2018, time.November, 4, 2, 0, 0, 0, time.UTC), // an hour before São Paulo skips midnight
}

func newWalk(t *rapid.T, h Harness, store limit.Store) *walk {
	limits := make([]limit.Limit, rapid.IntRange(1, 3).Draw(t, "limits"))
	w := &walk{t: t, late: 3 * sec, unit: rapid.SampledFrom([]int64{1, 1, limit.MaxCapacity / 8}).Draw(t, "unit")}
	for i := range limits {
		limits[i] = rapid.Custom(w.drawLimit).Filter(h.accepts).Draw(t, "limit")
	}
	if w.holds, w.until = !h.NoHolds && rapid.Bool().Draw(t, "holds"), map[uint64]time.Duration{}; w.holds {
		w.late = 0 // by a clock behind, an ended hold has its place, unless it was removed: stores may
		if rapid.Bool().Draw(t, "in flight") {
			limits = append(limits, InFlight(rapid.Int64Range(1, 3).Draw(t, "places"), 10*sec))
		}
	}
	w.pair = newPair(t, store, named(limits...)...)
	w.start = rapid.SampledFrom(starts).Draw(t, "start")
	w.other = newPair(t, store, limits[0])
	w.other.reference, w.other.start = w.reference, w.start
	return w
}

// units draws a number of units. Large ones end in different digits.
func (w *walk) units(t *rapid.T, least, most int64) int64 {
	return w.unit*rapid.Int64Range(least, most).Draw(t, "units") + rapid.Int64Range(0, min(7, w.unit-1)).Draw(t, "more")
}

func (w *walk) drawLimit(t *rapid.T) limit.Limit {
	capacity := w.units(t, 1, 8)
	window := rapid.SampledFrom([]time.Duration{sec, 7 * sec, 10 * sec}).Draw(t, "window")
	slots := rapid.SampledFrom([]time.Duration{1, 2, 10, 50}).Draw(t, "slots")
	burst := rapid.Int64Range(1, 8).Draw(t, "burst")
	unit := rapid.SampledFrom([]limit.Unit{limit.Day, limit.Week, limit.Month}).Draw(t, "unit")
	zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/Sao_Paulo"}).Draw(t, "zone")
	return rapid.SampledFrom(slices.DeleteFunc([]limit.Limit{
		Sliding(capacity, window, window/slots), Fixed(capacity, window), Weighted(capacity, window),
		Exact(capacity, window), Token(capacity, window, burst), Leaky(capacity, window, burst), zoned(capacity, unit, zone, 0),
	}, func(l limit.Limit) bool { return !l.Valid() })).Draw(t, "limit")
}

// clock advances and returns the time of a call: the clock's, or one a little
// behind it.
func (w *walk) clock() time.Duration {
	l := &w.limits[rapid.IntRange(0, len(w.limits)-1).Draw(w.t, "by limit")]
	switch rapid.IntRange(0, 8).Draw(w.t, "move") {
	case 0:
		w.at++
	case 1:
		w.at += time.Duration(rapid.Int64Range(0, int64(300*ms)).Draw(w.t, "little"))
	case 2:
		w.at += time.Duration(rapid.Int64Range(0, int64(l.Window)/2).Draw(w.t, "much"))
	case 3:
		if !l.Slotless() && l.Algorithm != limit.SlidingWindowLog {
			next := l.Until(l.SlotAt(w.time(w.at))+1, w.time(w.at))
			w.at += max(0, next+time.Duration(rapid.IntRange(-1, 1).Draw(w.t, "border")))
		}
	case 4:
		w.at += max(0, w.wait)
	case 5:
		return w.at - time.Duration(rapid.Int64Range(0, int64(w.late)).Draw(w.t, "late"))
	case 6:
		w.at += rapid.SampledFrom([]time.Duration{0, 0, 0, 3*l.Window + 1}).Draw(w.t, "idle")
	case 7:
		if until, ok := w.until[drawID(w.t)]; ok { // it loses its place, or comes to its end
			border := until + time.Duration(rapid.IntRange(-1, 1).Draw(w.t, "border"))
			w.at = max(w.at, border-rapid.SampledFrom([]time.Duration{0, limit.HoldMargin}).Draw(w.t, "margin"))
		}
	}
	return w.at
}

func (w *walk) costs() []int64 {
	costs := make([]int64, len(w.limits))
	for i := range costs {
		costs[i] = min(w.units(w.t, 0, 4), w.limits[i].MaxCost()+1)
	}
	if w.hold = (limit.Opening{}); w.holds && rapid.IntRange(0, 3).Draw(w.t, "hold") > 0 {
		w.hold = limit.Opening{ID: drawID(w.t), For: drawHold(w.t), Most: rapid.Int64Range(0, 3).Draw(w.t, "most")}
	}
	if last := len(costs) - 1; w.limits[last].Algorithm == limit.InFlight {
		costs[last] = min(costs[last], 1, int64(w.hold.ID))
	}
	return costs
}

func drawID(t *rapid.T) uint64 { return rapid.Uint64Range(1, 4).Draw(t, "ID") }

func drawHold(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{sec, 4 * sec, 10 * sec}).Draw(t, "for")
}

// keep records a charge that was made, to correct it later.
func (w *walk) keep(a *answer) {
	w.wait = a.got.RetryAfter
	w.opened(a)
	if a.got.Allowed && a.want.Before == nil {
		w.made = append(w.made, &made{a, w.at, slices.Clone(a.charge.Costs)})
	}
}

// opened records when the hold of a charge that was made loses its place.
func (w *walk) opened(a *answer) {
	if r := &a.want.Receipt; a.want.Allowed && a.got.Allowed && r.Hold != 0 {
		w.until[r.Hold] = time.UnixMilli(r.Until).Sub(w.start) + limit.HoldMargin
	}
}

// ended reports whether the charge's hold has lost its place. It is gone or not
// then, as the store likes, until another one needs the place.
func (w *walk) ended(m *made) bool {
	until, open := w.until[m.want.Receipt.Hold]
	return open && until <= w.at
}

// renewOne renews the hold of a charge.
func (w *walk) renewOne(t *rapid.T) {
	if len(w.made) == 0 {
		t.Skip()
	}
	m := w.made[rapid.IntRange(0, len(w.made)-1).Draw(t, "which")]
	id := m.want.Receipt.Hold
	if id == 0 || w.ended(m) {
		t.Skip()
	}
	o := limit.Opening{For: drawHold(t)}
	if w.renew(w.at, m.answer, o.For) == nil {
		w.until[id] = max(w.until[id], time.UnixMilli(o.Until(w.time(w.at))).Sub(w.start)+limit.HoldMargin)
	}
}

// correct settles a charge. It skips charges older than an hour, because the
// store may have expired their counter.
func (w *walk) correct(t *rapid.T, down bool) {
	if len(w.made) == 0 {
		t.Skip()
	}
	m := w.made[rapid.IntRange(0, len(w.made)-1).Draw(t, "which")]
	if w.at-m.at > time.Hour || w.ended(m) || !down && m.want.Receipt.Hold != 0 { // which would free its place
		t.Skip()
	}
	deltas := make([]int64, len(m.refundable))
	for i := range deltas {
		var least int64
		if down {
			least = -w.maxRefund(m, i)
		}
		if m.charge.Limits[i].Correctable() {
			deltas[i] = rapid.Int64Range(least, 3*w.unit).Draw(t, "delta")
			m.refundable[i] += min(0, deltas[i])
		}
	}
	if w.settle(w.at, m.answer, deltas...) == nil {
		delete(w.until, m.want.Receipt.Hold)
		w.at += ms // the next opening of its ID is another
	}
}

// maxRefund returns how many units of a charge can be refunded. It is 0 once
// the slot has left the window, when only a clock behind the settlement's would
// show a difference.
func (w *walk) maxRefund(m *made, i int) int64 {
	l := &m.charge.Limits[i]
	if !l.Correctable() || l.Until(m.want.Receipt.Slots[i]+l.Slots()+1, w.time(w.at)) <= 0 {
		return 0
	}
	return m.refundable[i]
}

// rarelyReset resets the key one time in four.
func (w *walk) rarelyReset(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "reset") > 0 {
		t.Skip()
	}
	w.reset()
	clear(w.until)
}

// both charges two keys at once: the walk's key, and another one with its first
// limit.
func (w *walk) both() {
	costs := [][]int64{w.costs(), {rapid.Int64Range(0, 2).Draw(w.t, "other cost")}}
	if answers := chargeEach(w.clock(), []*pair{w.pair, w.other}, costs); answers != nil {
		w.opened(answers[0])
	}
}
