package storetest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/slidegate/slidegate/internal/limit"
)

// InFlight returns a limit of places.
func InFlight(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.InFlight, Capacity: capacity, Window: window}
}

//go:embed holds.txt
var holdFile string

// holding replays holds.txt, whose first paragraph explains its format, and opens
// holds of two keys at once.
func holding(t *testing.T, h Harness) {
	if h.NoHolds {
		return
	}
	clients := map[string]limit.Store{"a": h.Client(t), "b": h.Client(t)}
	for _, trace := range strings.Split(strings.TrimSpace(holdFile), "\n\n")[1:] {
		lines := strings.Split(trace, "\n")
		t.Run(lines[0], func(t *testing.T) { replayHolds(t, clients, lines[1], lines[2:]) })
	}
	t.Run("two keys at once", func(t *testing.T) { holdingTwo(t, clients["a"]) })
}

// holdingTwo opens a hold of each of two keys, or of none.
func holdingTwo(t *testing.T, store limit.Store) {
	pairs := []*pair{newPair(t, store, Sliding(5, 10*sec, sec)), newPair(t, store, InFlight(1, 10*sec))}
	share(pairs)
	group := func(at time.Duration, id uint64, units int64) []*answer {
		for _, p := range pairs {
			p.hold = limit.Opening{ID: id, For: 10 * sec, Most: 2}
		}
		return chargeEach(at, pairs, [][]int64{{units}, {1}})
	}
	first := group(0, 1, 2)
	group(0, 2, 1) // no place
	for _, p := range pairs {
		p.peek(0, 1)
	}
	again := group(sec, 1, 3) // made before, both
	_ = pairs[1].settle(sec, first[1], 0)
	group(sec, 1, 3) // the first was made before, the second is new
	_ = pairs[0].settle(sec, again[0], -2)
	_ = pairs[0].settle(sec, first[0], -2)
	group(sec, 1, 6)    // too many units: the second was made before, which helps nothing
	group(14*sec, 1, 5) // both are over
}

func replayHolds(t *testing.T, clients map[string]limit.Store, heading string, calls []string) {
	limits, holds, _ := strings.Cut(heading, "; ")
	p := newPair(t, clients["a"])
	for _, words := range strings.Split(limits, " + ") {
		p.limits = append(p.limits, readLimit(strings.Fields(words)))
	}
	if named(p.limits...); len(p.limits) == 1 {
		p.limits[0].Name = ""
	}
	p.note("%s", heading)
	var seconds int64
	if _, err := fmt.Sscanf(holds, "holds of %ds, at most %d", &seconds, &p.hold.Most); err != nil {
		p.fail("holds.txt: %v", err)
	}
	p.hold.For = time.Duration(seconds) * sec
	made := map[string]*answer{}
	for _, line := range calls {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		got := p.by(clients[words[1]]).call(must(time.ParseDuration(words[0])), words[2], words[3], words[4], made)
		if want := strings.Join(words[5:], " "); got != want {
			p.fail("got:  %s\nwant: %s", got, want)
		}
	}
}

// call makes a call of holds.txt, and returns the answer in words.
func (p *pair) call(at time.Duration, verb, id, list string, made map[string]*answer) string {
	p.Helper()
	var numbers []int64
	for _, word := range strings.Split(list, ",") {
		numbers = append(numbers, readNumber(word))
	}
	p.hold.ID = uint64(readNumber(id))
	a := made[id]
	switch verb {
	case "charge":
		a = p.charge(at, numbers...)
		if a.got.Allowed {
			made[id] = a
		}
		return p.answered(&a.got)
	case "peek":
		return p.answered(&p.peek(at, numbers...).want)
	case "settle":
		return outcome(p.settle(at, a, numbers...))
	case "renew":
		return outcome(p.renew(at, a, time.Duration(numbers[0])*sec))
	case "reset":
		p.reset()
	case "capacity":
		p.resize(numbers[0])
	default:
		panic("holds.txt: unknown call " + verb)
	}
	return "done"
}

// outcome returns the answer to a settlement or a renewal in a word.
func outcome(err error) string {
	switch {
	case errors.Is(err, limit.ErrClosed):
		return "closed"
	case errors.Is(err, limit.ErrReset):
		return "reset"
	}
	return "done"
}

// renew moves the end of a charge's hold. It returns the error if that is gone.
func (p *pair) renew(at time.Duration, a *answer, by time.Duration) error {
	p.Helper()
	c := *a.charge
	c.Hold.For = by
	p.note("%v: renewed%s for %v", at, a.holding(), by)
	return p.same(p.store.Renew(context.Background(), p.time(at), &c, &a.got.Receipt),
		p.reference.Renew(context.Background(), p.time(at), &c, &a.want.Receipt))
}

// same fails unless the store's error means what the reference's does, and
// returns that.
func (p *pair) same(got, want error) error {
	p.Helper()
	p.log[len(p.log)-1] += ": " + outcome(want)
	if want == nil {
		p.must(got)
	}
	if !errors.Is(got, want) {
		p.fail("the store returned the error %v, want %v", got, want)
	}
	return want
}

// holding names the hold of the next charge in the log.
func (p *pair) holding() string {
	if p.hold.ID == 0 {
		return ""
	}
	return fmt.Sprintf(" with hold %d of %v, at most %d", p.hold.ID, p.hold.For, p.hold.Most)
}

func (a *answer) holding() string {
	if a.want.Receipt.Hold == 0 {
		return ""
	}
	return fmt.Sprintf(" with hold %d", a.want.Receipt.Hold)
}

// answered describes a verdict of a charge.
func (p *pair) answered(v *limit.Verdict) string {
	s := format(v.Result)
	if v.Before != nil {
		var took []string
		for _, t := range v.Before {
			took = append(took, fmt.Sprint(t.Units))
		}
		s += ", took " + strings.Join(took, " and ") + " before"
	}
	if v.Allowed && v.Receipt.Hold != 0 {
		s += fmt.Sprintf(", hold until %v", time.UnixMilli(v.Receipt.Until).Sub(p.start))
	}
	return s
}

// holders is how many clients share the two places of a history.
const holders = 3

// recordHolds has clients open, repeat, renew and settle holds of one key at the
// same time, and often the same one. Their clocks agree. No call is about a hold
// that may have ended, because a store may have removed it.
func (r *recorder) recordHolds(t *testing.T) (history []porcupine.Operation) {
	key, now, id := freshKey(), epoch, uint64(0)
	known := map[uint64]*call{} // the charges that have opened holds, by ID
	for range 7 {
		now = now.Add(time.Duration(r.rand.Int64N(int64(3 * sec))))
		maps.DeleteFunc(known, func(_ uint64, c *call) bool { return c.receipt.Until <= now.Add(-limit.HoldMargin).UnixMilli() })
		ids, calls := slices.Sorted(maps.Keys(known)), make([]*call, holders)
		for i := range calls {
			if len(ids) > 0 && r.rand.IntN(3) > 0 {
				calls[i] = r.about(known[ids[r.rand.IntN(len(ids))]], now)
				continue
			}
			id++
			c := &limit.Charge{Key: key, Limits: r.limits, Costs: []int64{1, 1 + r.rand.Int64N(2)}}
			c.Hold = limit.Opening{ID: id, For: time.Duration(1+r.rand.IntN(5)) * sec}
			calls[i] = &call{kind: toCharge, now: now, charges: []*limit.Charge{c}}
		}
		for _, op := range r.round(t, calls) {
			history = append(history, op)
			if c, got := op.Input.(*call), op.Output.(answers); c.kind == toCharge && got.verdicts[0].Allowed && got.verdicts[0].Before == nil {
				known[c.receipt.Hold] = c
			}
		}
	}
	return history
}

// about returns a call about the hold of a charge: its repetition, its settlement
// or its renewal.
func (r *recorder) about(made *call, now time.Time) *call {
	c := &call{kind: toCharge, now: now, charges: made.charges, receipt: made.receipt}
	switch r.rand.IntN(3) {
	case 1:
		c.kind, c.deltas = toSettle, []int64{0, r.rand.Int64N(3) - 1}
	case 2:
		renewed := *made.charges[0]
		renewed.Hold.For = time.Duration(1+r.rand.IntN(5)) * sec
		c.kind, c.charges = toRenew, []*limit.Charge{&renewed}
	}
	return c
}
