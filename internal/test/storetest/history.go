package storetest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	clients       = 8
	histories     = 200 // of each kind, by default
	searchTimeout = time.Minute
)

var historySeed = flag.Uint64("storetest.seed", 0, "seed of the calls of concurrent clients; 0 for a new one")

// concurrency has eight clients call a store at once, and searches for an order
// of calls in which the reference gives the same answers, and in which no call
// comes before another that had ended when it began (M. Herlihy and J. Wing,
// "Linearizability: a correctness condition for concurrent objects", 1990).
func concurrency(t *testing.T, h Harness) {
	algorithms := mixed()[:6] // a calendar's windows are fixed windows
	rules := map[string][]limit.Limit{"several limits": algorithms}
	for i, l := range algorithms {
		rules[l.Algorithm.String()] = algorithms[i : i+1]
	}
	var stores []limit.Store
	for range clients {
		stores = append(stores, h.Client(t))
	}
	t.Run("150 at once on a limit of 100", func(t *testing.T) { stampede(t, stores) })
	for name, limits := range rules {
		t.Run(name, func(t *testing.T) {
			seed := cmp.Or(*historySeed, rand.Uint64())
			t.Logf("-storetest.seed=%d", seed)
			r := &recorder{h: h, stores: stores, rand: rand.New(rand.NewPCG(seed, 0)), limits: limits}
			for range cmp.Or(h.Histories, histories) {
				linearize(t, h, r.record(t))
			}
			if undecided := r.undecided.Load(); undecided > r.calls/2 {
				t.Errorf("the store did not decide %d of %d calls", undecided, r.calls)
			}
		})
	}
}

// stampede checks that of 150 calls at once on a limit of 100 exactly 100 are
// allowed.
func stampede(t *testing.T, stores []limit.Store) {
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

// recorder records what clients of a store do at the same time.
type recorder struct {
	h         Harness
	stores    []limit.Store // by client
	rand      *rand.Rand
	limits    []limit.Limit
	ticks     atomic.Int64 // orders calls and answers
	calls     int64
	undecided atomic.Int64
}

// record has all clients call at once, several times over, on two new keys. It
// returns the calls that the store decided.
//
// Each call brings its own time. If clients lag, clocks agree while calls are
// under way, because a late clock may over-deny. Otherwise each call draws its
// time from one clock, and arrives early or late.
func (r *recorder) record(t *testing.T) (history []porcupine.Operation) {
	limits := r.small()
	keys := [2]string{freshKey(), freshKey()}
	last := make([]*call, clients)
	var now time.Duration
	for range min(1+max(1, r.h.Rounds), 6) {
		now += time.Duration(r.rand.Int64N(int64(4 * sec)))
		round := make([]porcupine.Operation, clients)
		var wg sync.WaitGroup
		for i := range clients {
			at := now
			if r.h.Lag == 0 {
				at += time.Duration(r.rand.Int64N(int64(2 * sec)))
			}
			c := r.draw(keys, limits, epoch.Add(at), last[i])
			last[i] = c
			wg.Go(func() { round[i] = r.perform(t, i, c) })
		}
		wg.Wait()
		r.calls += clients
		for _, op := range round {
			if op.Output != nil {
				history = append(history, op)
			}
		}
	}
	return history
}

// small returns the rule with capacities that a few calls exhaust.
func (r *recorder) small() []limit.Limit {
	limits := slices.Clone(r.limits)
	for i := range limits {
		limits[i].Capacity = 1 + r.rand.Int64N(12)
		if limits[i].Bucket() {
			limits[i].Burst = 1 + r.rand.Int64N(12)
		}
	}
	return limits
}

// draw draws a client's next call. If clients lag, nothing is refunded or
// reset, because the others may read it later.
func (r *recorder) draw(keys [2]string, limits []limit.Limit, now time.Time, last *call) *call {
	c := &call{kind: toCharge, now: now}
	for _, key := range keys {
		costs := make([]int64, len(limits))
		for i := range costs {
			costs[i] = r.rand.Int64N(4)
		}
		c.charges = append(c.charges, &limit.Charge{Key: key, Limits: limits, Costs: costs})
	}
	switch dice := r.rand.IntN(20); {
	case dice < 4:
		c.kind = toChargeAll
		return c
	case dice < 6:
		c.kind = toPeek
	case dice < 7 && r.h.Lag == 0:
		c.kind = toReset
	case dice < 11 && last != nil && last.kind == toCharge && last.receipt.Generation != "" && limits[0].Correctable():
		c.kind, c.receipt, c.charges = toSettle, last.receipt, last.charges
		c.deltas = make([]int64, len(limits))
		c.deltas[0] = 1
		if r.h.Lag == 0 && r.rand.IntN(2) == 0 {
			c.deltas[0] = -last.charges[0].Costs[0]
		}
		return c
	}
	c.charges = c.charges[:1]
	return c
}

// perform makes the call and records when it was made and answered. The
// operation has no output if the store did not decide.
func (r *recorder) perform(t *testing.T, client int, c *call) porcupine.Operation {
	op := porcupine.Operation{ClientId: client, Input: c, Call: r.ticks.Add(1)}
	runtime.Gosched()
	got, err := c.do(r.stores[client])
	runtime.Gosched()
	op.Return = r.ticks.Add(1)
	switch {
	case errors.Is(err, limit.ErrUndecided):
		r.undecided.Add(1)
		return op
	case err != nil:
		t.Errorf("%s: %v", c, err)
	case c.kind == toCharge && got[0].Allowed:
		c.receipt = got[0].Receipt
	}
	op.Output = got
	return op
}

// linearize fails the test unless some order of the calls gives the answers. A
// failure leaves a page that shows them.
func linearize(t *testing.T, h Harness, history []porcupine.Operation) {
	t.Helper()
	m := model(h.Lag > 0)
	switch result, info := porcupine.CheckOperationsVerbose(m, history, searchTimeout); result {
	case porcupine.Unknown:
		t.Fatalf("found no order of %d calls within %v", len(history), searchTimeout)
	case porcupine.Illegal:
		dir, err := os.MkdirTemp("", "slidegate-history-")
		page := filepath.Join(dir, "history.html")
		if err == nil {
			err = porcupine.VisualizePath(m, info, page)
		}
		t.Fatalf("no order of calls gives the answers that %d clients got; a browser shows them in %s (%v)", clients, page, err)
	}
}
