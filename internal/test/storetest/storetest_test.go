package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// TestReference runs the suite on the specification itself.
func TestReference(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		reference := storetest.NewReference()
		return storetest.Harness{Client: func(testing.TB) limit.Store { return reference }, Rounds: 5, Histories: 20} // it holds a lock for each call
	})
}

type charge = func(context.Context, time.Time, *limit.Charge, *limit.Verdict) error

// wrong is a Reference store with some calls replaced.
type wrong struct {
	*storetest.Reference
	charge    charge
	chargeAll func(context.Context, time.Time, []*limit.Charge, []*limit.Verdict) error
	peek      charge
	settle    func(context.Context, time.Time, *limit.Charge, *limit.Receipt, []int64) error
	renew     func(context.Context, time.Time, *limit.Charge, *limit.Receipt) error
	reset     func(context.Context, string) error
}

func (w *wrong) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return w.charge(ctx, now, c, v)
}

func (w *wrong) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	return w.chargeAll(ctx, now, cs, vs)
}

func (w *wrong) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return w.peek(ctx, now, c, v)
}

func (w *wrong) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	return w.settle(ctx, now, c, r, deltas)
}

func (w *wrong) Renew(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	return w.renew(ctx, now, c, r)
}

func (w *wrong) Reset(ctx context.Context, key string) error { return w.reset(ctx, key) }

// faults are mistakes of a store, each with the part of the suite that must
// detect it.
var faults = map[string]struct {
	found string
	make  func(*wrong)
}{
	"admits one too many": {"traces", func(w *wrong) {
		w.charge = changed(w, func(c *limit.Charge) { c.Limits[0].Capacity++ })
	}},
	"keeps the capacity of the first charge": {"sequences", func(w *wrong) {
		first := map[string]int64{}
		w.charge = changed(w, func(c *limit.Charge) {
			if first[c.Key] == 0 {
				first[c.Key] = c.Limits[0].Capacity
			}
			c.Limits[0].Capacity = first[c.Key]
		})
	}},
	"starts every day at midnight UTC": {"traces", func(w *wrong) {
		w.charge = changed(w, func(c *limit.Charge) {
			if of := c.Limits[0].Calendar; of != nil {
				c.Limits[0].Calendar = &limit.Calendar{Unit: of.Unit, Anchor: of.Anchor, Location: time.UTC}
			}
		})
	}},
	"truncates long keys": {"keys", func(w *wrong) {
		w.charge = changed(w, func(c *limit.Charge) { c.Key = c.Key[:min(len(c.Key), 504)] })
	}},
	"rounds times to milliseconds": {"traces", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			return w.Reference.Charge(ctx, now.Truncate(time.Millisecond), c, v)
		}
	}},
	"returns a retry-after one nanosecond short": {"sequences", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			err := w.Reference.Charge(ctx, now, c, v)
			v.RetryAfter = max(v.RetryAfter-1, min(v.RetryAfter, 0))
			return err
		}
	}},
	"charges one limit of a denied charge": {"sequences", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			err := w.Reference.Charge(ctx, now, c, v)
			if err == nil && !v.Allowed && v.Limits[0].Allowed {
				some := *c
				some.Costs = make([]int64, len(c.Costs))
				some.Costs[0] = c.Costs[0]
				err = w.Reference.Charge(ctx, now, &some, &limit.Verdict{})
			}
			return err
		}
	}},
	"peeks and then charges in two steps": {"concurrency", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			if err := w.Reference.Peek(ctx, now, c, v); err != nil || !v.Allowed {
				return err
			}
			runtime.Gosched()
			var late limit.Verdict
			if err := w.Reference.Charge(ctx, now, c, &late); err != nil || late.Allowed {
				*v = late
				return err
			}
			return nil
		}
	}},
	"charges the keys of a group one by one": {"several keys", func(w *wrong) {
		w.chargeAll = func(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
			if err := limit.CheckAll(cs, vs); err != nil {
				return err
			}
			for i, c := range cs {
				_ = w.Reference.Charge(ctx, now, c, vs[i])
			}
			return nil
		}
	}},
	"charges on a peek": {"peeks and denials", func(w *wrong) { w.peek = w.Reference.Charge }},
	"refunds charges of another generation": {"sequences", func(w *wrong) {
		generation := map[string]string{}
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			err := w.Reference.Charge(ctx, now, c, v)
			generation[c.Key] = v.Receipt.Generation
			return err
		}
		w.settle = func(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
			return w.Reference.Settle(ctx, now, c, &limit.Receipt{Generation: generation[c.Key], Slots: r.Slots}, deltas)
		}
	}},
	"gives a place away at the end of its hold": {"holds", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			return w.Reference.Charge(ctx, now.Add(limit.HoldMargin), c, v)
		}
	}},
	"charges a repeated charge again": {"holds", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			err := w.Reference.Charge(ctx, now, c, v)
			if err == nil && v.Before != nil {
				plain := *c
				plain.Hold = limit.Opening{}
				err = w.Reference.Charge(ctx, now, &plain, &limit.Verdict{})
			}
			return err
		}
	}},
	"corrects a charge that was settled before": {"holds", func(w *wrong) {
		w.settle = func(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
			err := w.Reference.Settle(ctx, now, c, r, deltas)
			if errors.Is(err, limit.ErrClosed) {
				plain := *r
				plain.Hold = 0
				_ = w.Reference.Settle(ctx, now, c, &plain, deltas)
			}
			return err
		}
	}},
	"looks for the hold before it settles": {"concurrency", func(w *wrong) {
		w.settle = func(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
			var v limit.Verdict
			_ = w.Reference.Peek(ctx, now, c, &v)
			runtime.Gosched()
			err := w.Reference.Settle(ctx, now, c, r, deltas)
			if v.Before != nil && errors.Is(err, limit.ErrClosed) {
				return nil
			}
			return err
		}
	}},
	"renews nothing": {"holds", func(w *wrong) {
		w.renew = func(context.Context, time.Time, *limit.Charge, *limit.Receipt) error { return nil }
	}},
	"never resets": {"resets", func(w *wrong) { w.reset = func(context.Context, string) error { return nil } }},
	"accepts bad charges": {"bad charges", func(w *wrong) {
		w.charge = func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
			_ = w.Reference.Charge(ctx, now, c, v)
			return nil
		}
	}},
}

// changed returns a Charge that changes each charge first.
func changed(w *wrong, change func(*limit.Charge)) charge {
	return func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
		if c.Check() == nil {
			other := *c
			other.Limits = append([]limit.Limit(nil), c.Limits...)
			change(&other)
			c = &other
		}
		return w.Reference.Charge(ctx, now, c, v)
	}
}

const faultVariable = "STORETEST_FAULT"

// TestFaults runs the suite on wrong stores, each in its own process, and
// expects it to fail.
func TestFaults(t *testing.T) {
	if name := os.Getenv(faultVariable); name != "" {
		storetest.Run(t, func(*testing.T) storetest.Harness {
			reference := storetest.NewReference()
			w := &wrong{reference, reference.Charge, reference.ChargeAll, reference.Peek, reference.Settle, reference.Renew, reference.Reset}
			faults[name].make(w)
			return storetest.Harness{Client: func(testing.TB) limit.Store { return w }}
		})
		return
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			part := strings.ReplaceAll(fault.found, " ", "_")
			suite := exec.Command(os.Args[0], "-test.run=^TestFaults$/^"+part+"$", "-rapid.nofailfile")
			suite.Env = append(os.Environ(), faultVariable+"="+name)
			out, err := suite.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFaults/"+part) {
				t.Errorf("%q passes for a store that %s: %v\n%s", fault.found, name, err, out)
			}
		})
	}
}
