package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// pair makes the same calls on a store and on the reference, compares the
// answers, and logs the calls in words.
type pair struct {
	rapid.TB
	store     limit.Store
	reference *Reference
	start     time.Time
	key       string
	limits    []limit.Limit
	hold      limit.Opening // of the next charges
	log       []string
	// lagging is set if the client may deny by a snapshot from before other
	// clients' charges.
	lagging bool
}

// run separates the keys of this process from other processes' keys on the same
// table or server.
var (
	run  = rand.Text()[:8]
	keys atomic.Int64
)

// freshKey returns a key that no charge has used yet.
func freshKey() string { return fmt.Sprintf("conformance|%s:%d|00000000", run, keys.Add(1)) }

func newPair(t rapid.TB, store limit.Store, limits ...limit.Limit) *pair {
	p := &pair{TB: t, store: store, reference: NewReference(), start: epoch, key: freshKey(), limits: limits}
	for i := range limits {
		p.log = append(p.log, "limit "+describe(&limits[i]))
	}
	return p
}

// answer has the verdicts of the store and the reference on one charge.
type answer struct {
	charge    *limit.Charge
	got, want limit.Verdict
}

func (p *pair) request(costs ...int64) *limit.Charge {
	return &limit.Charge{Key: p.key, Limits: slices.Clone(p.limits), Costs: costs, Hold: p.hold}
}

func (p *pair) time(at time.Duration) time.Time { return p.start.Add(at) }

// note logs a call.
func (p *pair) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

// fail ends the test with a sentence, after the log of what led to it.
func (p *pair) fail(format string, args ...any) {
	p.Helper()
	p.Fatalf("%s\n%s", strings.Join(p.log, "\n"), fmt.Sprintf(format, args...))
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.fail("the store returned an error, and the reference none: %v", err)
	}
}

// decision is limit.Store.Charge or limit.Store.Peek.
type decision func(limit.Store, context.Context, time.Time, *limit.Charge, *limit.Verdict) error

// charge takes costs at a time after the pair's start, and fails unless both
// stores agree.
func (p *pair) charge(at time.Duration, costs ...int64) *answer {
	p.Helper()
	a := p.decide("charged", limit.Store.Charge, at, costs)
	p.receiptsAgree(a)
	return a
}

// peek calls Peek on both stores, and fails unless they agree.
func (p *pair) peek(at time.Duration, costs ...int64) *answer {
	p.Helper()
	return p.decide("peeked at", limit.Store.Peek, at, costs)
}

func (p *pair) decide(verb string, decide decision, at time.Duration, costs []int64) *answer {
	p.Helper()
	a := &answer{charge: p.request(costs...)}
	p.note("%v: %s %v%s", at, verb, costs, p.holding())
	p.must(decide(p.store, context.Background(), p.time(at), a.charge, &a.got))
	_ = decide(p.reference, context.Background(), p.time(at), a.charge, &a.want)
	p.agree(a)
	return a
}

// denies calls Denies, which may miss a denial but must not return a wrong one.
func (p *pair) denies(at time.Duration, costs ...int64) bool {
	p.Helper()
	a := &answer{charge: p.request(costs...)}
	p.note("%v: tested whether %v would be denied", at, costs)
	if !p.store.Denies(p.time(at), a.charge, &a.got) {
		return false
	}
	_ = p.reference.Peek(context.Background(), p.time(at), a.charge, &a.want)
	p.agree(a)
	return true
}

// settle corrects a charge, and closes its hold. It returns the error if that is
// gone.
func (p *pair) settle(at time.Duration, a *answer, deltas ...int64) error {
	p.Helper()
	p.note("%v: corrected the charge of %v by %+d%s", at, a.charge.Costs, deltas, a.holding())
	return p.same(p.store.Settle(context.Background(), p.time(at), a.charge, &a.got.Receipt, deltas),
		p.reference.Settle(context.Background(), p.time(at), a.charge, &a.want.Receipt, deltas))
}

func (p *pair) reset() {
	p.Helper()
	p.note("reset the key")
	p.must(p.store.Reset(context.Background(), p.key))
	_ = p.reference.Reset(context.Background(), p.key)
}

// agree fails unless both stores give the charge the same result, combined and
// limit by limit.
func (p *pair) agree(a *answer) {
	p.Helper()
	p.log[len(p.log)-1] += ": " + p.answered(&a.want)
	if p.lagging && (lags(a.got.Result, a.want.Result) || a.want.Before != nil && !a.got.Allowed) {
		return // of another process's charge that is repeated, at another cost, a snapshot may know nothing
	}
	if a.got.Result != a.want.Result {
		p.fail("got:  %s\nwant: %s", format(a.got.Result), format(a.want.Result))
	}
	if !reflect.DeepEqual(a.got.Before, a.want.Before) {
		p.fail("the store says that the charge was made before, and took %v; want %v", a.got.Before, a.want.Before)
	}
	for i := range a.charge.Limits {
		if got, want := a.got.Limits[i], a.want.Limits[i]; got != want {
			p.fail("limit %q\ngot:  %s\nwant: %s", a.charge.Limits[i].Name, format(got), format(want))
		}
	}
}

// lags reports whether a denial is correct for an earlier state, with more
// units left and less time to wait.
func lags(got, want limit.Result) bool {
	return !got.Allowed && !want.Allowed && got.Delay == 0 && got.Remaining >= want.Remaining && got.Reset <= want.Reset &&
		got.RetryAfter <= want.RetryAfter && (got.RetryAfter == limit.Never) == (want.RetryAfter == limit.Never)
}

// receiptsAgree fails unless both receipts name the same slots, and a
// generation if something was charged.
func (p *pair) receiptsAgree(a *answer) {
	p.Helper()
	if !a.want.Allowed || !a.got.Allowed { // a lagging client may deny
		return
	}
	if a.want.Before == nil && !a.charge.Takes(&a.want) && a.charge.Hold.ID != 0 {
		return // whether it creates a counter is the store's affair
	}
	if got, want := a.got.Receipt.Generation != "", a.want.Receipt.Generation != ""; got != want {
		p.fail("the store's receipt names the generation %q; the reference names one: %v", a.got.Receipt.Generation, want)
	}
	if got, want := &a.got.Receipt, &a.want.Receipt; got.Hold != want.Hold || got.Opened != want.Opened || got.Until != want.Until {
		p.fail("got:  %s\nwant: %s", p.answered(&a.got), p.answered(&a.want))
	}
	for i, cost := range a.charge.Costs {
		got, want := a.got.Receipt.Slots[i], a.want.Receipt.Slots[i]
		if unknown := got == 0 && a.charge.Limits[i].Bucket(); cost != 0 && got != want && !unknown { // of a transaction
			p.fail("of limit %q the store's receipt names slot %d, the reference's %d", a.charge.Limits[i].Name, got, want)
		}
	}
}

// format describes a result.
func format(r limit.Result) string {
	s := "denied"
	if r.Allowed {
		s = "allowed"
	}
	s += fmt.Sprintf(", %d left, reset in %v", r.Remaining, r.Reset)
	switch {
	case r.RetryAfter == limit.Never:
		s += ", never allowed"
	case r.RetryAfter != 0:
		s += fmt.Sprintf(", retry after %v", r.RetryAfter)
	}
	if r.Delay != 0 {
		s += fmt.Sprintf(", delay %v", r.Delay)
	}
	return s
}
