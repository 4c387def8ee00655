package storetest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	clients   = 8
	histories = 200 // of each kind
	patience  = time.Minute
)

var historySeed = flag.Uint64("storetest.seed", 0, "draw the calls of concurrent clients by this seed; 0 for a new one")

// concurrency has eight clients call a store at once. It searches for an order
// of calls in which the reference gives the same answers, and in which no call
// comes before another that had ended when it began (M. Herlihy and J. Wing,
// "Linearizability: a correctness condition for concurrent objects", 1990).
func concurrency(t *testing.T, h Harness) {
	algorithms := mixed()[:6] // a calendar's windows are fixed windows
	rules := map[string][]limit.Limit{"several limits": algorithms}
	for i, l := range algorithms {
		rules[l.Algorithm.String()] = algorithms[i : i+1]
	}
	var stores []Store
	for range clients {
		stores = append(stores, h.Client(t))
	}
	t.Run("150 at once on a limit of 100", func(t *testing.T) { stampede(t, stores) })
	for name, limits := range rules {
		t.Run(name, func(t *testing.T) {
			seed := cmp.Or(*historySeed, rand.Uint64())
			t.Logf("-storetest.seed=%d", seed)
			g := &gathering{h: h, stores: stores, rand: rand.New(rand.NewPCG(seed, 0)), limits: limits}
			for range histories {
				explain(t, h, g.meet(t))
			}
			if g.undecided.Load() > g.called.Load()/2 {
				t.Errorf("the store did not decide %d of %d calls", g.undecided.Load(), g.called.Load())
			}
		})
	}
}

// stampede checks the promise in one sentence: of 150 calls at once on a limit
// of 100 exactly 100 are allowed.
func stampede(t *testing.T, stores []Store) {
	c := &limit.Charge{Key: freshKey(), Limits: []limit.Limit{Sliding(100, time.Minute, sec)}, Costs: []int64{1}}
	var allowed, undecided atomic.Int64
	var wg sync.WaitGroup
	for i := range 150 {
		wg.Go(func() {
			var v limit.Verdict
			switch err := stores[i%len(stores)].Charge(context.Background(), epoch, c, &v); {
			case errors.Is(err, limit.ErrUndecided):
				undecided.Add(1)
			case err != nil:
				t.Error(err)
			case v.Allowed:
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if got := allowed.Load(); got > 100 || got+undecided.Load() < 100 {
		t.Errorf("%d of 150 allowed and %d undecided, want exactly 100 allowed", got, undecided.Load())
	}
}

// gathering creates histories of one rule.
type gathering struct {
	h         Harness
	stores    []Store
	rand      *rand.Rand
	limits    []limit.Limit
	ticks     atomic.Int64 // orders calls and answers
	called    atomic.Int64
	undecided atomic.Int64
}

// meet has all clients call at once, several times over, on two new keys.
//
// Each call brings its own time. If clients lag, clocks agree while calls are
// under way, because a late clock may over-deny. Otherwise each call draws its
// time from one clock, and arrives early or late.
func (g *gathering) meet(t *testing.T) (history []porcupine.Operation) {
	limits := g.small()
	keys := [2]string{freshKey(), freshKey()}
	last := make([]*call, clients)
	var now time.Duration
	for range min(1+max(1, g.h.Rounds), 6) {
		now += time.Duration(g.rand.Int64N(int64(4 * sec)))
		round := make([]porcupine.Operation, clients)
		var wg sync.WaitGroup
		for i := range clients {
			at := now
			if g.h.Lag == 0 {
				at += time.Duration(g.rand.Int64N(int64(2 * sec)))
			}
			do := g.draw(keys, limits, epoch.Add(at), last[i])
			last[i] = do
			wg.Go(func() { round[i] = g.perform(t, i, do) })
		}
		wg.Wait()
		for _, op := range round {
			if !op.Output.(*reply).undecided {
				history = append(history, op)
			}
		}
	}
	return history
}

// small returns the rule with capacities that a few calls exhaust.
func (g *gathering) small() []limit.Limit {
	limits := slices.Clone(g.limits)
	for i := range limits {
		limits[i].Capacity = 1 + g.rand.Int64N(12)
		if limits[i].Bucket() {
			limits[i].Burst = 1 + g.rand.Int64N(12)
		}
	}
	return limits
}

// draw draws a client's next call. If clients lag, nothing is refunded or
// reset, because they may learn of it later.
func (g *gathering) draw(keys [2]string, limits []limit.Limit, now time.Time, last *call) *call {
	c := &call{kind: toCharge, now: now}
	for _, key := range keys {
		costs := make([]int64, len(limits))
		for i := range costs {
			costs[i] = g.rand.Int64N(4)
		}
		c.charges = append(c.charges, &limit.Charge{Key: key, Limits: limits, Costs: costs})
	}
	switch dice := g.rand.IntN(20); {
	case dice < 4:
		c.kind = toChargeAll
		return c
	case dice < 6:
		c.kind = toPeek
	case dice < 7 && g.h.Lag == 0:
		c.kind = toReset
	case dice < 11 && last != nil && last.kind == toCharge && last.receipt.Generation != "" && limits[0].Correctable():
		c.kind, c.receipt, c.charges = toSettle, last.receipt, last.charges
		c.deltas = make([]int64, len(limits))
		c.deltas[0] = 1
		if g.h.Lag == 0 && g.rand.IntN(2) == 0 {
			c.deltas[0] = -last.charges[0].Costs[0]
		}
		return c
	}
	c.charges = c.charges[:1]
	return c
}

// perform makes the call and records when it was made and answered.
func (g *gathering) perform(t *testing.T, client int, c *call) porcupine.Operation {
	g.called.Add(1)
	op := porcupine.Operation{ClientId: client, Input: c, Call: g.ticks.Add(1)}
	runtime.Gosched()
	answer, err := c.do(g.stores[client])
	runtime.Gosched()
	op.Return = g.ticks.Add(1)
	if errors.Is(err, limit.ErrUndecided) {
		g.undecided.Add(1)
		answer.undecided = true
	} else if err != nil {
		t.Errorf("%s: %v", c, err)
	}
	if c.kind == toCharge && !answer.undecided && answer.verdicts[0].Allowed {
		c.receipt = answer.verdicts[0].Receipt
	}
	op.Output = answer
	return op
}

// explain fails the test, and draws a picture, unless some order of calls
// explains the history.
func explain(t *testing.T, h Harness, history []porcupine.Operation) {
	t.Helper()
	m := model(h.Lag > 0)
	result, info := porcupine.CheckOperationsVerbose(m, history, patience)
	switch result {
	case porcupine.Ok:
	case porcupine.Unknown:
		t.Fatalf("a history of %d calls could not be explained within %v", len(history), patience)
	default:
		t.Fatalf("no order of calls explains the answers to %d clients: %s", clients, picture(m, info))
	}
}

func picture(m porcupine.Model, info porcupine.LinearizationInfo) string {
	file, err := os.CreateTemp("", "slidegate-history-*.html")
	if err != nil {
		return fmt.Sprintf("(no picture: %v)", err)
	}
	defer file.Close()
	if err := porcupine.Visualize(m, info, file); err != nil {
		return fmt.Sprintf("(no picture: %v)", err)
	}
	return "a browser shows the history in " + file.Name()
}
