package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// charge returns the charge of a rule for any request.
func charge(set *rules.Set, rule int) limit.Charge {
	r := engine.Resolver{Set: set, Now: epoch}
	return r.Resolve(context.Background(), set.Rules[rule], &request.Request{}, "").Charge
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// delayedRules are rules that take some time to read. The first of them fail if
// the context ends first; later ones are then those read before.
type delayedRules struct {
	set   *rules.Set
	takes time.Duration
	first bool
}

func (r *delayedRules) Rules(ctx context.Context, _ time.Time) (*rules.Set, error) {
	if err := pause(ctx, r.takes); err != nil && r.first {
		return nil, err
	}
	return r.set, nil
}

const refundingRules = `rules:
  - {name: first, key: all, on_error: deny, limits: [{capacity: 40, window: 60s}]}
  - {name: second, key: all, on_error: deny, limits: [{capacity: 1, window: 60s}]}`

// TestDeadlineBoundsTheDecision: rules that are read, every rule's charge and
// the refund of a denial share one deadline.
func TestDeadlineBoundsTheDecision(t *testing.T) {
	const deadline = 250 * time.Millisecond
	for name, test := range map[string]struct {
		rules, charge, settle time.Duration
		first                 bool
		want                  time.Duration
		degraded              bool
	}{
		"a store in time":          {0, 50, 50, false, 150, false},
		"a slow second charge":     {0, 200, 10, false, 250, true},
		"a slow refund":            {0, 100, 200, false, 250, false},
		"a refund after the end":   {0, 240, 200, false, 250, true},
		"a slow store":             {0, 900, 0, false, 250, true},
		"rules read meanwhile":     {100, 100, 100, false, 250, true},
		"rules that take longer":   {900, 10, 0, false, 250, true},
		"first rules":              {100, 100, 10, true, 250, true},
		"first rules after longer": {900, 100, 200, true, 250 + 900 + 250, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, store := parse(t, refundingRules), fakestore.New(nil)
				store.NoSnapshot = true
				e := engine.New(engine.Options{
					Rules: &delayedRules{set, test.rules * time.Millisecond, test.first},
					Store: store, Local: memory.New(0), Deadline: deadline,
				})
				var filled limit.Verdict
				second := charge(set, 1)
				if err := store.Charge(context.Background(), epoch, &second, &filled); err != nil {
					t.Fatal(err)
				}
				store.Hook = func(c *fakestore.Call) error {
					delays := map[fakestore.Op]time.Duration{fakestore.Charge: test.charge, fakestore.Settle: test.settle}
					return pause(c.Ctx, delays[c.Op]*time.Millisecond)
				}
				started := time.Now()
				d, err := e.Decide(context.Background(), epoch, &request.Request{})
				if took := time.Since(started); took != test.want*time.Millisecond {
					t.Errorf("took %v, want %vms", took, int64(test.want))
				}
				if err != nil || d.Allowed || d.Degraded != test.degraded {
					t.Errorf("decision %+v, error %v", d, err)
				}
				time.Sleep(time.Second) // for refunds that go on
				var first limit.Verdict
				if whole := charge(set, 0); store.Peek(context.Background(), epoch, &whole, &first) != nil || first.Limits[0].Remaining != 40 {
					t.Errorf("%d units of the first rule are left, want 40: refunded", first.Limits[0].Remaining)
				}
			})
		})
	}
}

// TestRetryAfterOfFailures: clients of a store that throttles stay away longer
// than those of a store that does not answer.
func TestRetryAfterOfFailures(t *testing.T) {
	set := parse(t, "rules: [{name: r, key: all, on_error: deny, limits: [{capacity: 40, window: 60s}]}]")
	for cause, want := range map[error]time.Duration{errDown: time.Second, limit.Throttled("too many calls"): 5 * time.Second} {
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: fakestore.New(fakestore.Fail(fmt.Errorf("table counters: %w", cause))), Local: memory.New(0)})
		d, err := e.Decide(context.Background(), epoch, &request.Request{})
		if err != nil || d.Allowed || !d.Degraded || d.Verdicts[0].RetryAfter != want {
			t.Errorf("%v: decision %+v, error %v, want retry-after %v", cause, d, err, want)
		}
	}
}

// TestUncounted: where on_error decides, nothing is left in a verdict of the call
// that failed, and each limit has a result.
func TestUncounted(t *testing.T) {
	for _, kind := range []string{"", "atomic: true, "} {
		for onError, allowed := range map[string]bool{"allow": true, "deny": false} {
			b := newFixture(t, `rules:
  - {name: first, `+kind+`key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: second, `+kind+`key: all, on_error: `+onError+`, limits: [{name: a, capacity: 9, window: 60s}, {name: b, capacity: 9, window: 120s}]}
`)
			b.store.Hook = fakestore.Down(errDown, "second")
			d := b.decide(t, "/")
			v := &d.Verdicts[len(d.Verdicts)-1]
			want := limit.Result{Allowed: allowed}
			if !allowed {
				want.RetryAfter = v.RetryAfter
			}
			if d.Allowed != allowed || d.Delay != 0 || !v.Uncounted || v.Result != want || !slices.Equal(v.Limits, make([]limit.Result, 2)) {
				t.Errorf("%son_error: %s: %+v, limits %+v, delay %v", kind, onError, v.Result, v.Limits, d.Delay)
			}
		}
	}
}

// TestUncharged: a verdict has a result for each limit also where no store was
// asked: because an override denies or cannot be read.
func TestUncharged(t *testing.T) {
	const several = `limits: [{name: a, capacity: 9, window: 60s}, {name: b, capacity: 9, window: 120s}]`
	for name, test := range map[string]struct {
		document string
		err      error
	}{
		"denied": {`rules: [{name: r, key: "stage:{stage}", ` + several + `}]
overrides: {r: {"stage:prod": {deny: true}}}`, nil},
		"unreadable, denied": {`rules: [{name: r, key: all, overrides: true, on_error: deny, ` + several + `}]`, errDown},
	} {
		b := &fixture{store: fakestore.New(nil), recorder: &recorder{}}
		o := engine.Options{Rules: engine.Fixed{Set: parse(t, test.document)}, Store: b.store, Local: memory.New(0), Observer: b.recorder}
		if test.err != nil {
			o.Overrides = &operators{err: test.err}
		}
		b.engine = engine.New(o)
		d := b.decide(t, "/")
		if len(d.Verdicts) != 1 || !slices.Equal(d.Verdicts[0].Limits, make([]limit.Result, 2)) || b.store.Count(fakestore.Charge) != 0 {
			t.Errorf("%s: %+v after %d charges", name, d.Verdicts, b.store.Count(fakestore.Charge))
		}
	}
}

// TestUnreadableShadow: a shadow rule whose override cannot be read is not
// charged if its on_error denies, and is charged by its own limits otherwise.
func TestUnreadableShadow(t *testing.T) {
	for onError, charges := range map[string]int{"allow": 2, "deny": 1} {
		b := &fixture{store: fakestore.New(nil), recorder: &recorder{}}
		b.engine = engine.New(engine.Options{
			Rules: engine.Fixed{Set: parse(t, `rules:
  - {name: real, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: shadow, mode: shadow, key: all, overrides: true, on_error: `+onError+`, limits: [{capacity: 9, window: 60s}]}
`)}, Overrides: &operators{err: errDown}, Store: b.store, Local: memory.New(0), Observer: b.recorder,
		})
		if d := b.decide(t, "/"); !d.Allowed || d.Degraded || len(d.Shadows) != 1 || d.Shadows[0].Uncounted != (charges == 1) || b.store.Count(fakestore.Charge) != charges {
			t.Errorf("on_error: %s: %+v, shadows %+v, %d charges", onError, d, d.Shadows, b.store.Count(fakestore.Charge))
		}
	}
}
