package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// trial does the same to a store and to the step, compares what they say, and remembers it in words.
type trial struct {
	rapid.TB
	store  Store
	step   *Step
	start  time.Time
	key    string
	limits []limit.Limit
	told   []string
	// lagging says that the client's denials may be by what it has seen before others charged.
	lagging bool
}

// run tells the keys of this process from those of others on the same table or server.
var (
	run  = rand.Text()[:8]
	keys atomic.Int64
)

// freshKey returns a key that no charge has named yet.
func freshKey() string { return fmt.Sprintf("conformance|%s:%d|00000000", run, keys.Add(1)) }

func newTrial(t rapid.TB, store Store, limits ...limit.Limit) *trial {
	tr := &trial{TB: t, store: store, step: NewStep(), start: epoch, key: freshKey(), limits: limits}
	for i := range limits {
		tr.told = append(tr.told, "limit "+words(&limits[i]))
	}
	return tr
}

// answer is what a store and the step said of one charge.
type answer struct {
	charge    *limit.Charge
	got, want limit.Verdict
}

func (tr *trial) request(costs ...int64) *limit.Charge {
	return &limit.Charge{Key: tr.key, Limits: slices.Clone(tr.limits), Costs: costs}
}

func (tr *trial) time(at time.Duration) time.Time { return tr.start.Add(at) }

// note remembers what is done next.
func (tr *trial) note(format string, args ...any) {
	tr.told = append(tr.told, fmt.Sprintf(format, args...))
}

// fail ends the trial with a sentence, after what led to it.
func (tr *trial) fail(format string, args ...any) {
	tr.Helper()
	tr.Fatalf("%s\n%s", strings.Join(tr.told, "\n"), fmt.Sprintf(format, args...))
}

func (tr *trial) must(err error) {
	tr.Helper()
	if err != nil {
		tr.fail("the store fails where the step does not: %v", err)
	}
}

// charge takes costs at a time after the trial's start, and fails unless store and step agree.
func (tr *trial) charge(at time.Duration, costs ...int64) *answer {
	tr.Helper()
	a := &answer{charge: tr.request(costs...)}
	tr.note("%v: charged %v", at, costs)
	tr.must(tr.store.Charge(context.Background(), tr.time(at), a.charge, &a.got))
	_ = tr.step.Charge(context.Background(), tr.time(at), a.charge, &a.want)
	tr.agree(a)
	tr.receiptsAgree(a)
	return a
}

// peek asks what a charge would get, and fails unless store and step agree.
func (tr *trial) peek(at time.Duration, costs ...int64) *answer {
	tr.Helper()
	a := &answer{charge: tr.request(costs...)}
	tr.note("%v: peeked at %v", at, costs)
	tr.must(tr.store.Peek(context.Background(), tr.time(at), a.charge, &a.got))
	_ = tr.step.Peek(context.Background(), tr.time(at), a.charge, &a.want)
	tr.agree(a)
	return a
}

// denies asks for a denial from what is at hand. The store need not know of one, but must not invent it.
func (tr *trial) denies(at time.Duration, costs ...int64) bool {
	tr.Helper()
	a := &answer{charge: tr.request(costs...)}
	tr.note("%v: asked whether %v would be denied", at, costs)
	if !tr.store.Denies(tr.time(at), a.charge, &a.got) {
		return false
	}
	_ = tr.step.Peek(context.Background(), tr.time(at), a.charge, &a.want)
	tr.agree(a)
	return true
}

// settle corrects a charge.
func (tr *trial) settle(at time.Duration, a *answer, deltas ...int64) {
	tr.Helper()
	tr.note("%v: corrected the charge of %v by %+d", at, a.charge.Costs, deltas)
	tr.must(tr.store.Settle(context.Background(), tr.time(at), a.charge, &a.got.Receipt, deltas))
	_ = tr.step.Settle(context.Background(), tr.time(at), a.charge, &a.want.Receipt, deltas)
}

func (tr *trial) reset() {
	tr.Helper()
	tr.note("reset the key")
	tr.must(tr.store.Reset(context.Background(), tr.key))
	_ = tr.step.Reset(context.Background(), tr.key)
}

// agree fails unless store and step gave the charge the same, together and limit by limit.
func (tr *trial) agree(a *answer) {
	tr.Helper()
	tr.told[len(tr.told)-1] += ": " + say(a.want.Result)
	if tr.lagging && lags(a.got.Result, a.want.Result) {
		return
	}
	if a.got.Result != a.want.Result {
		tr.fail("the store says: %s\nthe step says:  %s", say(a.got.Result), say(a.want.Result))
	}
	for i := range a.charge.Limits {
		if got, want := a.got.Limits[i], a.want.Limits[i]; got != want {
			tr.fail("of limit %q the store says: %s\nthe step says: %s", a.charge.Limits[i].Name, say(got), say(want))
		}
	}
}

// lags reports whether a denial is right, and by an earlier state: one with more left, and less to wait for.
func lags(got, want limit.Result) bool {
	return !got.Allowed && !want.Allowed && got.Delay == 0 && got.Remaining >= want.Remaining && got.Reset <= want.Reset &&
		got.RetryAfter <= want.RetryAfter && (got.RetryAfter == limit.Never) == (want.RetryAfter == limit.Never)
}

// receiptsAgree fails unless both receipts name the same slots, and a life where something was charged.
func (tr *trial) receiptsAgree(a *answer) {
	tr.Helper()
	if !a.want.Allowed {
		return
	}
	if got, want := a.got.Receipt.Generation != "", a.want.Receipt.Generation != ""; got != want {
		tr.fail("the store's receipt names the life %q; the step's names one: %v", a.got.Receipt.Generation, want)
	}
	for i, cost := range a.charge.Costs {
		if got, want := a.got.Receipt.Slots[i], a.want.Receipt.Slots[i]; cost != 0 && got != want {
			tr.fail("of limit %q the store's receipt names slot %d, the step's %d", a.charge.Limits[i].Name, got, want)
		}
	}
}

// say puts a result into words.
func say(r limit.Result) string {
	s := "denied"
	if r.Allowed {
		s = "allowed"
	}
	s += fmt.Sprintf(", %d left, empty in %v", r.Remaining, r.Reset)
	switch {
	case r.RetryAfter == limit.Never:
		s += ", never to be allowed"
	case r.RetryAfter != 0:
		s += fmt.Sprintf(", retry after %v", r.RetryAfter)
	}
	if r.Delay != 0 {
		s += fmt.Sprintf(", its turn in %v", r.Delay)
	}
	return s
}
