package outage_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

const (
	dearest = 4000 // reservation
	asks    = 400
	purse   = asks * dearest / 4 // half of what all ask for on average
)

// teller reserves and settles money.
type teller struct {
	store  limit.Store
	now    func() time.Time
	engine *engine.Engine
}

func newTeller(store slidegate.Store) *teller {
	set, err := rulefile.Parse("rules.yaml", fmt.Appendf(nil, `rules: [{name: money, key: all, on_error: deny, reservations: 500, limits: [
		{capacity: %d, window: 1h, cost: {from: header.x-cost, min: 1, max: %d, settle: true}}]}]`, purse, dearest))
	if err != nil {
		panic(err)
	}
	t := &teller{store: store.Driver(), now: time.Now}
	if s, ok := store.(interface{ Now() time.Time }); ok {
		t.now = s.Now
	}
	t.engine = app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: t.store, Deadline: patience})
	return t
}

// do answers "reserve ID COST", by a receipt and whether the charge was made before,
// and "settle RECEIPT COST". An outcome that it does not know is "failed".
func (t *teller) do(words []string) string {
	ctx, cancel := context.WithTimeout(background, patience)
	defer cancel()
	if now := t.now(); words[0] == "reserve" {
		d, err := t.engine.Decide(ctx, now, &request.Request{Headers: map[string][]string{"x-cost": words[2:]}, Reserve: &request.Reserve{ID: words[1]}})
		switch {
		case err != nil || d.Degraded:
			return "failed"
		case !d.Allowed:
			return "denied"
		}
		text, _, _ := receipt.Encode(now, d)
		return fmt.Sprint(text, " ", d.Verdicts[0].Before != nil)
	}
	r, err := receipt.Parse(words[1])
	if err == nil {
		cost, _ := strconv.ParseInt(words[2], 10, 64)
		err = r.Pending[0].Settle(ctx, t.now(), t.store, engine.NoObserver{}, &engine.Outcome{Costs: map[string]int64{"money": cost}})
	}
	switch {
	case errors.Is(err, limit.ErrClosed):
		return "closed"
	case err != nil:
		return "failed"
	}
	return "settled"
}

// used returns how the test reads the units in use, after a reservation of one.
func (t *teller) used(tb testing.TB) func() int64 {
	text, _, _ := strings.Cut(t.do([]string{"reserve", "first", "1"}), " ")
	r, err := receipt.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	c := r.Pending[0].Charge
	c.Costs, c.Hold = []int64{0}, limit.Opening{}
	c.Limits[0].Capacity *= 2 // to see more than the limit allows
	return func() int64 {
		var v limit.Verdict
		if err := t.store.Peek(background, t.now(), &c, &v); err != nil {
			tb.Error(err)
		}
		return c.Limits[0].Capacity - v.Remaining
	}
}

// settleBy has processes settle at once, and returns their answers, in which nil
// stands for a process that has died.
func (c *crew) settleBy(workers []int, text string, cost int64) (answers map[string]int) {
	all, some := make([][]string, len(workers)), sync.WaitGroup{}
	for i, worker := range workers {
		some.Go(func() { all[i] = c.call(worker, "settle", text, cost) })
	}
	some.Wait()
	answers = map[string]int{}
	for _, answer := range all {
		answers[strings.Join(answer, "")]++
	}
	return answers
}

// TestSameSettlementOfTwoProcesses sends each settlement from two processes at once.
func TestSameSettlementOfTwoProcesses(t *testing.T) {
	onBoth(t, 2, "pay", func(t *testing.T, c *crew, store slidegate.Store) {
		c.start()
		teller := newTeller(store)
		used := teller.used(t)
		for i := range 200 {
			text, _, _ := strings.Cut(teller.do([]string{"reserve", strconv.Itoa(i), "4000"}), " ")
			before := used()
			answers := c.settleBy([]int{0, 1}, text, 812)
			if moved := used() - before; moved != 812-4000 || answers["settled"] != 1 || answers["closed"] != 1 {
				t.Fatalf("settlement %d moved the counter by %d: %v", i, moved, answers)
			}
		}
	})
}

// spend reserves, and settles late, twice, never or at once. It returns what that
// takes. Where a process has died before it knew, told asks the counter later: a
// repeated call changes nothing that was done, and says so.
func spend(t *testing.T, c *crew, teller *teller, id string) (takes int64, told func() int64) {
	cost := 1 + rand.Int64N(dearest)
	paid, workers := rand.Int64N(cost+1), []int{rand.IntN(processes)}
	answer := c.call(rand.IntN(processes), "reserve", id, cost)
	switch {
	case answer == nil || answer[0] == "failed":
		return 0, func() int64 {
			if answer := teller.do([]string{"reserve", id, strconv.FormatInt(cost, 10)}); strings.HasSuffix(answer, " true") {
				return cost
			} else if answer == "failed" {
				t.Error("the counter does not tell of reservation " + id)
			}
			return 0
		}
	case answer[0] == "denied":
		return 0, nil
	}
	switch rand.IntN(7) {
	case 0:
		return cost, nil
	case 1, 2:
		time.Sleep(rand.N(time.Second))
	case 3, 4:
		workers = append(workers, rand.IntN(processes))
	}
	answers := c.settleBy(workers, answer[0], paid)
	unknown := answers[""] + answers["failed"]
	if answers["settled"] > 1 || answers["closed"] > 0 && answers["settled"]+unknown == 0 {
		t.Errorf("reservation %s: %v", id, answers)
	}
	if unknown < len(workers) {
		return paid, nil
	}
	return 0, func() int64 {
		switch answer := teller.do([]string{"settle", answer[0], strconv.FormatInt(paid, 10)}); answer {
		case "closed":
			return paid
		case "settled": // only now
			return cost
		}
		t.Error("the counter does not tell of the settlement of " + id)
		return 0
	}
}

// TestMoneyOfKilledProcesses has processes that are killed at any time reserve
// about twice what there is.
func TestMoneyOfKilledProcesses(t *testing.T) {
	onBoth(t, processes, "pay", func(t *testing.T, c *crew, store slidegate.Store) {
		c.start()
		teller := newTeller(store)
		used := teller.used(t)
		var next, known atomic.Int64
		var mu sync.Mutex
		var unknown []func() int64
		var spenders, others sync.WaitGroup
		over := make(chan struct{})
		for range 2 * processes {
			spenders.Go(func() {
				for i := next.Add(1); i <= asks; i = next.Add(1) {
					takes, told := spend(t, c, teller, strconv.FormatInt(i, 10))
					if known.Add(takes); told != nil {
						mu.Lock()
						unknown = append(unknown, told)
						mu.Unlock()
					}
				}
			})
		}
		others.Go(func() { c.killSome(100*time.Millisecond, over) })
		peak, peeks := int64(0), 0
		others.Go(func() {
			for peeks = range 1 << 30 {
				select {
				case <-over:
					return
				case <-time.After(10 * time.Millisecond):
					peak = max(peak, used())
				}
			}
		})
		spenders.Wait()
		close(over)
		others.Wait()
		c.end()
		end := used()
		for before := int64(-1); before != end; end = used() { // a killed process's call may still arrive
			before = end
			time.Sleep(200 * time.Millisecond)
		}
		sum := 1 + known.Load()
		for _, told := range unknown {
			sum += told()
		}
		t.Logf("%d kills, capacity %d, at most %d in use in %d readings, %d at the end, of them known %d; of %d calls only the counter knew",
			c.kills, purse, peak, peeks, end, 1+known.Load(), len(unknown))
		if sum != end || max(peak, end) > purse || peak < purse/2 {
			t.Errorf("%d of %d units are in use, the reservations and settlements explain %d", end, purse, sum)
		}
	})
}
