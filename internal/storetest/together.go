package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// together charges several keys at once, all or none.
func together(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("all or none", func(t *testing.T) {
		trials := fourKeys(t, store)
		chargeOne(0, trials, 1, 1, 1, 1)
		chargeOne(sec, trials, 1, 1, 1, 2) // the log denies: nobody is charged
		for _, tr := range trials {
			tr.peek(sec, 1)
		}
		trials[2].charge(sec, 2)
		chargeOne(sec, trials, 1, 1, 1, 1) // now the fixed window denies
		chargeOne(sec, trials[:2], 1, 1)
		chargeOne(10*sec, trials, 1, 3, 3, 1)
		chargeOne(10*sec, trials, 9, 9, 9, 9)
		chargeOne(9*sec, trials[:1], 1)
	})
	t.Run("some of them cost nothing", func(t *testing.T) {
		trials := fourKeys(t, store)
		chargeOne(0, trials, 0, 0, 0, 0)
		chargeOne(0, trials, 0, 3, 0, 2)
		chargeOne(0, trials, 1, 0, 1, 0)
		chargeOne(0, trials, 1, 0, 1, 1)
	})
	t.Run("receipts settle", func(t *testing.T) {
		trials := fourKeys(t, store)
		answers := chargeOne(0, trials, 3, 1, 3, 1)
		trials[0].settle(sec, answers[0], -2)
		trials[2].settle(sec, answers[2], 2)
		chargeOne(sec, trials[:2], 2, 1)
		chargeOne(2*sec, trials, 1, 1, 1, 1)
	})
	t.Run("eight keys", func(t *testing.T) {
		trials := append(fourKeys(t, store), fourKeys(t, store)...)
		share(trials)
		for i := range 4 {
			chargeOne(time.Duration(i)*sec, trials, 1, 1, 1, 1, 1, 1, 1, 1)
		}
	})
	t.Run("what cannot be charged together", func(t *testing.T) { notTogether(t, store) })
}

// fourKeys returns trials of fresh keys, each with a limit of its own kind.
func fourKeys(t *testing.T, store Store) (trials []*trial) {
	for _, l := range []limit.Limit{Sliding(3, 10*sec, sec), Token(10, 10*sec, 3), Fixed(3, 10*sec), Exact(2, 10*sec)} {
		trials = append(trials, newTrial(t, store, l))
	}
	share(trials)
	return trials
}

// share has trials that are charged together share a step.
func share(trials []*trial) {
	for _, tr := range trials {
		tr.step = trials[0].step
	}
}

func notTogether(t *testing.T, store Store) {
	trials := fourKeys(t, store)
	one, bad := trials[0].request(1), trials[1].request(-1)
	nine := []*limit.Charge{one}
	for range 8 {
		nine = append(nine, newTrial(t, store, one.Limits...).request(1))
	}
	for name, cs := range map[string][]*limit.Charge{"none": {}, "a key twice": {one, one}, "one that is bad": {one, bad}, "nine": nine} {
		vs := make([]*limit.Verdict, len(cs))
		for i := range vs {
			vs[i] = &limit.Verdict{}
		}
		if err := store.ChargeAll(context.Background(), epoch, cs, vs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, tr := range trials {
		tr.peek(0, 1)
	}
}

// chargeOne charges the one limit of each trial's key, all at once.
func chargeOne(at time.Duration, trials []*trial, costs ...int64) []*answer {
	trials[0].Helper()
	each := make([][]int64, len(trials))
	for i := range each {
		each[i] = costs[i : i+1]
	}
	return chargeEach(at, trials, each)
}

// chargeEach charges each trial's key its costs, all at once, and fails unless store and step agree on each. The trials
// share a step.
func chargeEach(at time.Duration, trials []*trial, costs [][]int64) (answers []*answer) {
	first, all := trials[0], true
	first.Helper()
	var cs []*limit.Charge
	var got, want []*limit.Verdict
	for i, tr := range trials {
		a := &answer{charge: tr.request(costs[i]...)}
		answers, cs, got, want = append(answers, a), append(cs, a.charge), append(got, &a.got), append(want, &a.want)
		tr.note("%v: charged %d, together with other keys that make it %d", at, costs[i], costs)
	}
	first.must(first.store.ChargeAll(context.Background(), first.time(at), cs, got))
	_ = first.step.ChargeAll(context.Background(), first.time(at), cs, want)
	for i, tr := range trials {
		tr.agree(answers[i])
		all = all && want[i].Allowed
	}
	for i, tr := range trials {
		if all { // else the receipts mean nothing
			tr.receiptsAgree(answers[i])
		}
	}
	return answers
}
