package limit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// stale returns the verdict of an earlier charge, all of whose fields are set.
func stale() limit.Verdict {
	r := limit.Result{Allowed: true, Remaining: 99, Reset: time.Hour, RetryAfter: time.Hour, Delay: time.Hour}
	return limit.Verdict{
		Result: r, Limits: []limit.Result{r, r, r}, ByHolds: true, Before: []limit.Took{{Slot: 9, Units: 9}},
		Receipt: limit.Receipt{Generation: "earlier", Serial: 9, Hold: 9, Until: 9},
	}
}

// TestHoldVerdicts makes charges one after the other, and checks what a verdict
// says about holds, whatever it has said before, and whether Apply changed anything.
func TestHoldVerdicts(t *testing.T) {
	both := []limit.Limit{sliding(5, 10*sec, sec), inFlight(2, 10*sec)}
	type call struct {
		at    time.Duration
		hold  uint64
		costs []int64
		want  string
	}
	for name, trace := range map[string]struct {
		limits []limit.Limit
		calls  []call
	}{
		"several": {both, []call{
			{0, 0, []int64{0, 0}, "allowed, 2 left"},
			{0, 1, []int64{1, 1}, "allowed, 1 left, hold 1 until 10s, changed"},
			{0, 0, []int64{1, 0}, "allowed, 1 left, changed"},
			{0, 2, []int64{4, 1}, "denied, 1 left, retry after 11s"},
			{0, 2, []int64{1, 1}, "allowed, 0 left, hold 2 until 10s, changed"},
			{0, 3, []int64{1, 1}, "denied, 0 left, by holds, retry after 1s"},
			{0, 3, []int64{4, 1}, "denied, 0 left, retry after 11s"},
			{0, 3, []int64{0, 0}, "allowed, 0 left"},
			{0, 3, []int64{1, 0}, "allowed, 0 left, changed"},
			{0, 1, []int64{9, 1}, "denied, 0 left, retry after -1ns"},
			{0, 1, []int64{5, 1}, "allowed, 0 left, hold 1 until 10s, before [{1700000040 1} {0 1}]"},
			{10*sec - 1, 1, []int64{1, 1}, "allowed, 0 left, hold 1 until 10s, before [{1700000040 1} {0 1}]"},
			{10 * sec, 1, []int64{1, 1}, "denied, 0 left, by holds, retry after 1s"}, // its end has come, but its place is not free
			{13*sec - 1, 1, []int64{1, 1}, "denied, 0 left, by holds, retry after 1s"},
			{13 * sec, 1, []int64{1, 1}, "allowed, 1 left, hold 1 until 23s, changed"},
		}},
		"places alone": {[]limit.Limit{inFlight(2, 10*sec)}, []call{
			{0, 0, []int64{0}, "allowed, 2 left"},
			{0, 7, []int64{0}, "allowed, 2 left"},
			{1, 1, []int64{1}, "allowed, 1 left, hold 1 until 10.001s, changed"},
			{2, 0, []int64{0}, "allowed, 1 left"},
			{3, 2, []int64{1}, "allowed, 0 left, hold 2 until 10.001s, changed"},
			{4, 3, []int64{1}, "denied, 0 left, by holds, retry after 1s"},
		}},
		"reservations": {[]limit.Limit{leaky(1, sec, 9)}, []call{
			{0, 1, []int64{1}, "allowed, 8 left, hold 1 until 10s, changed"},
			{0, 2, []int64{0}, "allowed, 8 left, hold 2 until 10s, changed"},
			{0, 3, []int64{0}, "allowed, 8 left, by holds"},
			{0, 3, []int64{2}, "allowed, 6 left, by holds, delay 1s, changed"},
			{0, 0, []int64{1}, "allowed, 5 left, delay 3s, changed"},
			{0, 1, []int64{2}, "allowed, 5 left, hold 1 until 10s, before [{0 1}]"}, // its turn has come
		}},
	} {
		t.Run(name, func(t *testing.T) {
			states, holds := make([]limit.State, len(trace.limits)), &limit.Holds{}
			for i, call := range trace.calls {
				now := epoch.Add(call.at)
				c := &limit.Charge{Limits: trace.limits, Costs: call.costs, Hold: limit.Opening{ID: call.hold, For: 10 * sec, Most: 2}}
				decided, got := stale(), stale()
				limit.Decide(states, holds, c, now, &decided)
				changed := limit.Apply(states, holds, c, now, &got)
				if d, g := describe(&decided, false), describe(&got, changed); g != call.want {
					t.Fatalf("call %d: got %s, want %s", i, g, call.want)
				} else if !changed && d != g {
					t.Fatalf("call %d: decided %s, and got %s", i, d, g)
				}
				if c.Reserves() && c.ZeroCost() {
					t.Errorf("call %d has zero cost, though it opens a hold", i)
				}
				if got.Allowed != decided.Allowed || got.ByHolds != decided.ByHolds || got.Receipt.Hold != decided.Receipt.Hold {
					t.Fatalf("call %d: decided %+v, and got %+v", i, decided, got)
				}
			}
		})
	}
}

func describe(v *limit.Verdict, changed bool) string {
	s := "denied"
	if v.Allowed {
		s = "allowed"
	}
	s += fmt.Sprintf(", %d left", v.Remaining)
	if v.ByHolds {
		s += ", by holds"
	}
	if v.Receipt.Hold != 0 {
		s += fmt.Sprintf(", hold %d until %v", v.Receipt.Hold, time.UnixMilli(v.Receipt.Until).Sub(epoch))
	}
	if v.Before != nil {
		s += fmt.Sprintf(", before %v", v.Before)
	}
	if v.Delay != 0 {
		s += fmt.Sprintf(", delay %v", v.Delay)
	}
	if v.RetryAfter != 0 {
		s += fmt.Sprintf(", retry after %v", v.RetryAfter)
	}
	if v.Result != limit.Combine(v.Limits) {
		s += ", unlike its limits"
	}
	if v.Receipt.Generation != "" || v.Receipt.Serial != 0 {
		s += ", of an earlier generation"
	}
	if changed {
		s += ", changed"
	}
	return s
}

// TestHolds checks the bookkeeping of holds: their order, changes and ends, also
// of a counter that has none.
func TestHolds(t *testing.T) {
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	end := func(d time.Duration) int64 { return at(d).UnixMilli() }
	h := limit.NewHolds([]limit.Hold{{ID: 2, End: end(5 * sec)}, {ID: 3, End: end(sec)}, {ID: 1, End: end(5 * sec)}}, 7)
	check := func(step, want string) {
		t.Helper()
		var got string
		for _, hold := range h.All() {
			got += fmt.Sprintf("%d until %v, ", hold.ID, time.UnixMilli(hold.End).Sub(epoch))
		}
		if got += fmt.Sprint("version ", h.Version); got != want {
			t.Errorf("%s: got %s, want %s", step, got, want)
		}
	}
	of := func(id uint64) *limit.Receipt { return &limit.Receipt{Hold: id} }
	before := h.Clone()
	check("made", "3 until 1s, 1 until 5s, 2 until 5s, version 7")
	for d, ended := range map[time.Duration]int{0: 0, 4*sec - 1: 0, 4 * sec: 1, 8*sec - 1: 1, 8 * sec: 3} {
		if got := len(h.Ended(at(d))); got != ended || h.Live(at(d)) != int64(3-ended) || h.Expiry(at(d)) != 8*sec-d {
			t.Errorf("after %v %d have ended and %d live, for %v; want %d, %d and %v", d, got, h.Live(at(d)), h.Expiry(at(d)), ended, 3-ended, 8*sec-d)
		}
	}
	if got := h.Expiry(at(9 * sec)); got != 0 {
		t.Errorf("after all have ended, the last one ends in %v", got)
	}
	h.Open(limit.Hold{ID: 3, End: end(5 * sec)})
	check("opened again", "1 until 5s, 2 until 5s, 3 until 5s, version 8")
	if err := errors.Join(h.Renew(of(1), end(6*sec)), h.Renew(of(1), end(6*sec)), h.Renew(of(2), end(4*sec))); err != nil {
		t.Error(err)
	}
	check("renewed, once", "2 until 5s, 3 until 5s, 1 until 6s, version 9")
	if err := h.Close(of(2)); err != nil {
		t.Error(err)
	}
	for _, err := range []error{h.Close(of(2)), h.Renew(of(2), end(9*sec)), h.Close(&limit.Receipt{Hold: 3, Opened: 1}), (*limit.Holds)(nil).Renew(of(1), 0), (*limit.Holds)(nil).Close(of(1))} {
		if !errors.Is(err, limit.ErrClosed) {
			t.Errorf("a hold that is gone: error %v", err)
		}
	}
	check("closed, once", "3 until 5s, 1 until 6s, version 10")
	if h = before; h.Find(2) == nil || h.Find(4) != nil {
		t.Error("finds other holds than there are")
	}
	check("a clone", "3 until 1s, 1 until 5s, 2 until 5s, version 7")
	if h = nil; h.Live(epoch) != 0 || h.Expiry(epoch) != 0 || h.Find(1) != nil || len(h.Ended(epoch)) != 0 || h.Clone().Version != 0 {
		t.Error("a counter without holds has some")
	}
}

// TestCheckRenewal: only a hold of a receipt can be renewed, for a second to a day.
func TestCheckRenewal(t *testing.T) {
	for _, test := range []struct {
		hold uint64
		by   time.Duration
		cost int64
		ok   bool
	}{
		{1, sec, 1, true}, {1, limit.MaxHold, 1, true},
		{0, sec, 1, false}, {1, sec - 1, 1, false}, {1, limit.MaxHold + 1, 1, false}, {1, sec, -1, false},
	} {
		c := &limit.Charge{Limits: []limit.Limit{sliding(5, 10*sec, sec)}, Costs: []int64{test.cost}, Hold: limit.Opening{For: test.by}}
		if err := c.CheckRenewal(&limit.Receipt{Hold: test.hold}); (err == nil) != test.ok {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

// TestHoldProperties compares random calls with a map of ends and a list of
// charges.
func TestHoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, places := rapid.Int64Range(1, 9).Draw(t, "units"), rapid.Int64Range(1, 3).Draw(t, "places")
		inFlightToo := rapid.Bool().Draw(t, "in flight")
		limits := []limit.Limit{sliding(units, 10*sec, sec)}
		if inFlightToo {
			limits = append(limits, inFlight(places, 10*sec))
		}
		states, holds, v, now := make([]limit.State, len(limits)), &limit.Holds{}, stale(), epoch
		ends, taken := map[uint64]time.Time{}, map[int64]int64{} // units by slot
		charges, receipts := map[uint64]*limit.Charge{}, map[uint64]limit.Receipt{}
		used := func() (sum int64) {
			for slot, units := range taken {
				if slot >= now.Unix()-10 {
					sum += units
				}
			}
			return sum
		}
		live := func() (n int64) {
			for _, end := range ends {
				if now.Before(end.Add(limit.HoldMargin)) {
					n++
				}
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"charge": func(t *rapid.T) {
				c := &limit.Charge{Limits: limits, Costs: []int64{rapid.Int64Range(0, 4).Draw(t, "cost"), 1}[:len(limits)]}
				c.Hold = limit.Opening{ID: rapid.Uint64Range(1, 4).Draw(t, "ID"), For: 4 * sec, Most: places}
				id, free := c.Hold.ID, live() < places
				end, open := ends[id]
				repeated := open && now.Before(end) && c.Costs[0] <= units
				allowed := repeated || c.Costs[0] <= max(0, units-used()) && (free || !inFlightToo)
				limit.Apply(states, holds, c, now, &v)
				if opens := allowed && !repeated && free; opens {
					for other, end := range ends {
						if !now.Before(end.Add(limit.HoldMargin)) {
							delete(ends, other)
						}
					}
					v.Receipt.Generation = "of this test"
					ends[id], charges[id], receipts[id] = now.Add(4*sec), c, v.Receipt
				}
				if allowed && !repeated {
					taken[now.Unix()] += c.Costs[0]
				}
				if v.Allowed != allowed || (v.Before != nil) != repeated || (allowed && v.Receipt.Hold == id) != (allowed && (repeated || free)) {
					t.Fatalf("hold %d: %s; allowed %v, repeated %v, free %v", id, describe(&v, false), allowed, repeated, free)
				}
			},
			"settle": func(t *rapid.T) {
				id := rapid.Uint64Range(1, 4).Draw(t, "ID")
				c, r := charges[id], receipts[id]
				if c == nil {
					t.Skip()
				}
				deltas := []int64{rapid.Int64Range(-c.Costs[0], 2).Draw(t, "delta"), 0}[:len(limits)]
				_, open := ends[id]
				if err := limit.Settle(states, holds, c, now, &r, deltas); open != (err == nil) || !open && !errors.Is(err, limit.ErrClosed) {
					t.Fatalf("hold %d is open: %v, but error %v", id, open, err)
				}
				if slot := r.Slots[0]; open && deltas[0] < 0 {
					taken[slot] += deltas[0]
				} else if open {
					taken[now.Unix()] += deltas[0]
				}
				delete(ends, id)
			},
			"renew": func(t *rapid.T) {
				id, by := rapid.Uint64Range(1, 4).Draw(t, "ID"), limit.Opening{For: time.Duration(rapid.IntRange(1, 9).Draw(t, "for")) * sec}
				end, open := ends[id]
				r := receipts[id]
				if err := holds.Renew(&r, by.Until(now)); open != (err == nil) {
					t.Fatalf("hold %d is open: %v, but error %v", id, open, err)
				}
				if later := now.Add(by.For); open && later.After(end) {
					ends[id] = later
				}
			},
			"wait": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "wait")) * sec / 2) },
			"": func(t *rapid.T) {
				if got, want := holds.Live(now), live(); got != want || got > places {
					t.Fatalf("%d holds live, want %d of %d", got, want, places)
				}
				limit.Decide(states, holds, &limit.Charge{Limits: limits, Costs: make([]int64, len(limits))}, now, &v)
				want := max(0, units-used())
				if inFlightToo {
					want = min(want, places-live())
				}
				if !v.Allowed || v.Remaining != want || v.ByHolds || v.Before != nil {
					t.Fatalf("%s, want %d left", describe(&v, false), want)
				}
			},
		})
	})
}
