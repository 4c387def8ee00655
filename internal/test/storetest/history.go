package storetest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
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
	if !h.NoHolds {
		rules["in flight"] = named(InFlight(2, 10*sec), Sliding(9, 10*sec, sec))
	}
	for name, limits := range rules {
		t.Run(name, func(t *testing.T) {
			seed := cmp.Or(*historySeed, rand.Uint64())
			t.Logf("-storetest.seed=%d", seed)
			r := &recorder{h: h, stores: stores, rand: rand.New(rand.NewPCG(seed, 0)), limits: limits}
			record := r.record
			if limits[0].Algorithm == limit.InFlight {
				record = r.recordHolds
			}
			for range cmp.Or(h.Histories, histories) {
				linearize(t, h, record(t))
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
		for i := range clients {
			at := now
			if r.h.Lag == 0 {
				at += time.Duration(r.rand.Int64N(int64(2 * sec)))
			}
			last[i] = r.draw(keys, limits, epoch.Add(at), last[i])
		}
		history = append(history, r.round(t, last)...)
	}
	return history
}

// round has each client make a call, all at once. It returns those that the store
// decided.
func (r *recorder) round(t *testing.T, calls []*call) []porcupine.Operation {
	round := make([]porcupine.Operation, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { round[i] = r.perform(t, i, c) })
	}
	wg.Wait()
	r.calls += int64(len(calls))
	return slices.DeleteFunc(round, func(op porcupine.Operation) bool { return op.Output == nil })
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
	case outcome(err) != outcome(nil): // of a hold
	case err != nil:
		t.Errorf("%s: %v", c, err)
	case c.kind == toCharge && got[0].Allowed:
		c.receipt = got[0].Receipt
	}
	op.Output = answers{got, err}
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

// call is a call of a client in a history.
type call struct {
	kind    kind
	now     time.Time
	charges []*limit.Charge // one, unless all are charged at once
	receipt limit.Receipt   // of a settlement, or of a charge that was made
	deltas  []int64
}

type kind string

const (
	toCharge    kind = "charge"
	toChargeAll kind = "charge all"
	toPeek      kind = "peek"
	toSettle    kind = "settle"
	toReset     kind = "reset"
	toRenew     kind = "renew"
)

// answers are what a call got.
type answers struct {
	verdicts
	err error // that the hold or the counter is gone
}

func (a answers) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return a.verdicts.String()
}

// verdicts answer a call: one for each charge, none for a settlement or a
// reset.
type verdicts []*limit.Verdict

// do makes the call on a store: the one under test, or the reference.
func (c *call) do(s limit.Store) (vs verdicts, err error) {
	ctx, first := context.Background(), c.charges[0]
	switch c.kind {
	case toSettle:
		return nil, s.Settle(ctx, c.now, first, &c.receipt, c.deltas)
	case toReset:
		return nil, s.Reset(ctx, first.Key)
	case toRenew:
		return nil, s.Renew(ctx, c.now, first, &c.receipt)
	}
	for range c.charges {
		vs = append(vs, &limit.Verdict{})
	}
	switch c.kind {
	case toCharge:
		err = s.Charge(ctx, c.now, first, vs[0])
	case toPeek:
		err = s.Peek(ctx, c.now, first, vs[0])
	case toChargeAll:
		err = s.ChargeAll(ctx, c.now, c.charges, vs)
	}
	return vs, err
}

func (c *call) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%v: %s", c.now.Sub(epoch), c.kind)
	for _, charge := range c.charges {
		fmt.Fprintf(&s, " %s %d", charge.Key[strings.Index(charge.Key, ":")+1:strings.LastIndex(charge.Key, "|")], charge.Costs)
	}
	if c.kind == toSettle {
		fmt.Fprintf(&s, " by %+d", c.deltas)
	}
	if id := c.charges[0].Hold.ID; id != 0 {
		fmt.Fprintf(&s, " with hold %d", id)
	}
	return s.String()
}

func (vs verdicts) String() string {
	var results []string
	for _, v := range vs {
		results = append(results, format(v.Result))
	}
	return strings.Join(results, "; ")
}

// model is the reference as porcupine wants it. A state is a Reference store; a
// call copies it and changes the copy.
func model(lagging bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return NewReference() },
		Step: func(state, input, output any) (bool, any) {
			next, c, got := state.(*Reference).clone(), input.(*call), output.(answers)
			if hold := c.charges[0].Hold.ID; lagging && hold != 0 && slices.ContainsFunc(got.verdicts, isDenial) {
				return true, state // others may have closed holds since
			}
			want, err := c.do(next)
			return outcome(err) == outcome(got.err) && c.agree(next, got.verdicts, want, lagging), next
		},
		Equal:             func(a, b any) bool { return reflect.DeepEqual(a.(*Reference).counters, b.(*Reference).counters) },
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %v", input, output) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state.(*Reference).counters) },
	}
}

// agree reports whether the store's verdicts are the reference's. The reference
// takes over the store's name for a generation.
func (c *call) agree(s *Reference, got, want verdicts, lagging bool) bool {
	denied := slices.ContainsFunc(want, isDenial)
	if lagging && denied && c.kind != toPeek {
		return slices.ContainsFunc(got, isDenial) && (c.kind == toChargeAll || lags(got[0].Result, want[0].Result))
	}
	for i := range want {
		g, w := got[i], want[i]
		same := g.Result == w.Result && slices.Equal(g.Limits, w.Limits) && slices.Equal(g.Before, w.Before) &&
			(denied || c.kind == toPeek || g.Receipt.Hold == w.Receipt.Hold && g.Receipt.Opened == w.Receipt.Opened && g.Receipt.Until == w.Receipt.Until)
		if lagging && c.kind == toChargeAll { // computed from a snapshot before others charged
			same = g.Allowed
		}
		if !same || !denied && c.kind != toPeek && !s.named(c.charges[i], generationOf(&g.Receipt)) {
			return false
		}
	}
	return true
}

func isDenial(v *limit.Verdict) bool { return !v.Allowed }

// named takes the store's name for the generation of a counter that the
// reference has just charged, and reports whether it is the same as before. A
// charge of zero cost names none.
func (s *Reference) named(c *limit.Charge, g generation) bool {
	if c.ZeroCost() {
		return g.mark == ""
	}
	ct := s.counters[c.Key]
	if !ct.named {
		s.counters[c.Key] = counter{g, true, ct.states, ct.holds}
		return g.mark != ""
	}
	return ct.generation == g
}

func (s *Reference) clone() *Reference {
	next := &Reference{counters: maps.Clone(s.counters), generations: s.generations}
	for key, ct := range next.counters {
		ct.states, ct.holds = slices.Clone(ct.states), ct.holds.Clone()
		for i := range ct.states {
			ct.states[i] = ct.states[i].Clone()
		}
		next.counters[key] = ct
	}
	return next
}
