package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// mixed is a rule with a limit of every algorithm.
func mixed() []limit.Limit {
	return named(
		Sliding(6, 10*sec, sec),
		Fixed(4, 10*sec),
		Weighted(5, 10*sec),
		Exact(4, 10*sec),
		Token(10, 10*sec, 4),
		Leaky(10, 10*sec, 4),
		zoned(9, limit.Day, "Europe/Berlin", 0),
	)
}

// several charges rules of more limits than sequences have, and at times that
// they have not.
func several(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("eight limits", func(t *testing.T) {
		p := newPair(t, store, append(mixed(), Sliding(9, sec, 100*ms))...)
		p.charge(0, 1, 2, 1, 2, 1, 2, 1, 2)
		p.charge(sec, 2, 1, 2, 1, 2, 1, 2, 1)
		p.charge(2*sec, 2, 2, 2, 2, 2, 2, 2, 2)
		p.charge(12*sec, 1, 1, 1, 1, 1, 1, 1, 1)
	})
	t.Run("a bucket that is full before 1970", func(t *testing.T) {
		p := newPair(t, store, named(Token(3, 3*sec, 3), Sliding(3, sec, sec))...)
		p.start = time.Unix(0, 0)
		p.charge(1, 0, 1)
		p.charge(-2*sec, 1, 1) // full again at -1 s
		p.denies(2, 0, 3)
		p.charge(2, 3, 2)
		p.charge(2, 3, 1)
	})
}

// resize changes the capacities, and the burst of buckets, for later charges.
func (p *pair) resize(capacity int64) {
	for i := range p.limits {
		p.limits[i].Capacity = capacity
		if p.limits[i].Bucket() {
			p.limits[i].Burst = capacity
		}
		if p.limits[i].Algorithm == limit.InFlight {
			p.limits[i].Capacity = min(capacity, limit.MaxHolds)
		}
	}
	p.note("the capacity is now %d", capacity)
}

// atomicGroup charges several keys at once, all or none.
func atomicGroup(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("all or none", func(t *testing.T) {
		pairs := fourKeys(t, store)
		chargeOne(0, pairs, 1, 1, 1, 1)
		chargeOne(sec, pairs, 1, 1, 1, 2) // the log denies: no key is charged
		for _, p := range pairs {
			p.peek(sec, 1)
		}
		pairs[2].charge(sec, 2)
		chargeOne(sec, pairs, 1, 1, 1, 1) // now the fixed window denies
		chargeOne(sec, pairs[:2], 1, 1)
		chargeOne(10*sec, pairs, 1, 3, 3, 1)
		chargeOne(10*sec, pairs, 9, 9, 9, 9)
		chargeOne(9*sec, pairs[:1], 1)
	})
	t.Run("eight keys", func(t *testing.T) {
		pairs := append(fourKeys(t, store), fourKeys(t, store)...)
		share(pairs)
		for i := range 4 {
			chargeOne(time.Duration(i)*sec, pairs, 1, 1, 1, 1, 1, 1, 1, 1)
		}
	})
	t.Run("not an atomic group", func(t *testing.T) { notAGroup(t, store) })
}

// fourKeys returns pairs of new keys, each with a limit of another algorithm.
func fourKeys(t *testing.T, store limit.Store) (pairs []*pair) {
	for _, l := range []limit.Limit{Sliding(3, 10*sec, sec), Token(10, 10*sec, 3), Fixed(3, 10*sec), Exact(2, 10*sec)} {
		pairs = append(pairs, newPair(t, store, l))
	}
	share(pairs)
	return pairs
}

// share lets pairs that are charged in one group share a reference.
func share(pairs []*pair) {
	for _, p := range pairs {
		p.reference = pairs[0].reference
	}
}

func notAGroup(t *testing.T, store limit.Store) {
	pairs := fourKeys(t, store)
	one, bad := pairs[0].request(1), pairs[1].request(-1)
	nine := []*limit.Charge{one}
	for range 8 {
		nine = append(nine, newPair(t, store, one.Limits...).request(1))
	}
	for name, cs := range map[string][]*limit.Charge{
		"none": {}, "a key twice": {one, one}, "a bad charge": {one, bad}, "nine": nine,
	} {
		vs := make([]*limit.Verdict, len(cs))
		for i := range vs {
			vs[i] = &limit.Verdict{}
		}
		if err := store.ChargeAll(context.Background(), epoch, cs, vs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, p := range pairs {
		p.peek(0, 1)
	}
}

// chargeOne charges the one limit of each pair's key, all in one group.
func chargeOne(at time.Duration, pairs []*pair, costs ...int64) {
	pairs[0].Helper()
	each := make([][]int64, len(pairs))
	for i := range each {
		each[i] = costs[i : i+1]
	}
	chargeEach(at, pairs, each)
}

// chargeEach charges each pair's key its costs, all in one group, and fails
// unless both stores agree on each. The pairs share a reference. It returns the
// answers if the charges were made.
func chargeEach(at time.Duration, pairs []*pair, costs [][]int64) (answers []*answer) {
	first, all := pairs[0], true
	first.Helper()
	var cs []*limit.Charge
	var got, want []*limit.Verdict
	for i, p := range pairs {
		a := &answer{charge: p.request(costs[i]...)}
		answers, cs, got, want = append(answers, a), append(cs, a.charge), append(got, &a.got), append(want, &a.want)
		p.note("%v: charged %d, in a group that costs %d%s", at, costs[i], costs, p.holding())
	}
	first.must(first.store.ChargeAll(context.Background(), first.time(at), cs, got))
	_ = first.reference.ChargeAll(context.Background(), first.time(at), cs, want)
	for i, p := range pairs {
		p.agree(answers[i])
		all = all && want[i].Allowed
	}
	if !all { // the receipts are undefined
		return nil
	}
	for i, p := range pairs {
		p.receiptsAgree(answers[i])
	}
	return answers
}
