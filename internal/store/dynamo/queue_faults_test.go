package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// TestAnswerWithoutAnItem has an endpoint that is no DynamoDB answer "{}" to a
// write: the callers get an error, alone and in a batch.
func TestAnswerWithoutAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.answer = func(_ int, out *dynamodb.UpdateItemOutput) { out.Attributes = nil }
		c.charge(t.Context(), 4, 0)
		if left, errs := c.finish(); len(left) != 0 || len(errs) != 4 || !strings.Contains(errs[0].Error(), "no item") {
			t.Errorf("left %d, errors %v", left, errs)
		}
	})
}

// TestWritesAreVerified has another program change the counter under the write
// of a caller, or of the batch after it, so that it holds more than its capacity.
func TestWritesAreVerified(t *testing.T) {
	for changed, failed := range map[int]int{1: 1, 2: 3} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd()
			c.table.answer = func(write int, out *dynamodb.UpdateItemOutput) {
				if write == changed {
					out.Attributes["aC"] = &types.AttributeValueMemberN{Value: "21"}
					out.Attributes["a"+strconv.FormatInt(epoch.Unix(), 36)] = out.Attributes["aC"]
				}
			}
			c.charge(t.Context(), 4, 0)
			left, errs := c.finish()
			if len(left) != changed-1 || len(errs) != failed || !errors.Is(errs[0], dynamo.ErrForeign) {
				t.Errorf("write %d: left %d, errors %v", changed, left, errs)
			}
		})
	}
}

// TestCounterGoneUnderABatch has an operator delete the counter before the write
// of a batch. The members charge the new one.
func TestCounterGoneUnderABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.before = func(ctx context.Context, write int) error {
			if write != 2 {
				return nil
			}
			return dynamo.New(c.table.Table, "counters", dynamo.Options{Wall: time.Now}).Reset(ctx, key)
		}
		c.charge(t.Context(), 5, 0)
		if left, errs := c.finish(); !slices.Equal(left, []int64{16, 17, 18, 19, 19}) || len(errs) > 0 {
			t.Errorf("left %d, errors %v", left, errs)
		}
	})
}

// TestBatchPrunes has a batch charge a counter whose expired slots it cannot
// name, because the write before it failed. The next request for another key
// removes them.
func TestBatchPrunes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.capacity = 1000
		for second := range 40 { // each by a process that has no snapshot
			c.store = dynamo.New(&c.table.Double, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
			c.charge(t.Context(), 1, second)
			c.group.Wait()
		}
		c.store = dynamo.New(&c.table.Double, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
		c.table.before = func(_ context.Context, write int) error {
			if write == 41 {
				return errOutage
			}
			return nil
		}
		c.charge(t.Context(), 3, 200)
		if left, errs := c.finish(); len(left) != 42 || len(errs) != 1 {
			t.Fatalf("left %d, errors %v", left, errs)
		}
		other := twenty()
		other.Key = "another"
		if err := c.store.Charge(t.Context(), epoch, other, &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.table.Item(key)["a"+strconv.FormatInt(epoch.Unix(), 36)]; ok {
			t.Error("a slot that expired is still there")
		}
	})
}

// TestLargestBatch has more callers than one write may charge.
func TestLargestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.capacity = 1000
		c.charge(t.Context(), 1+100+1, 0)
		if left, errs := c.finish(); len(left) != 102 || len(errs) > 0 || c.table.writes.Load() != 3 {
			t.Errorf("%d admitted by %d writes, errors %v", len(left), c.table.writes.Load(), errs)
		}
	})
}

// TestTurnAtTheEndOfPatience gives callers their turn at the moment at which
// their patience ends. They end the turn in either case: the next caller goes at
// once.
func TestTurnAtTheEndOfPatience(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd()
			c.table.before = func(_ context.Context, write int) error {
				if write == 1 {
					time.Sleep(50*time.Millisecond - roundTrip)
				}
				return nil
			}
			c.charge(t.Context(), 2, 0)
			c.group.Wait()
			began := time.Now()
			c.charge(t.Context(), 1, 0)
			if _, errs := c.finish(); len(errs) > 0 || time.Since(began) != roundTrip {
				t.Errorf("the next caller waited %v, errors %v", time.Since(began), errs)
			}
		})
	}
}

// TestCallersOfAWrite has two callers wait for the write of a first one. The
// write that charges both names them.
func TestCallersOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		var callers []int
		c.table.before = func(ctx context.Context, _ int) error {
			of := dynamo.Callers(ctx)
			callers = append(callers, len(of))
			if slices.Contains(of, nil) {
				t.Error("a caller has no context")
			}
			return nil
		}
		c.charge(t.Context(), 3, 0)
		c.expect(t, 2, 0, 17, 18, 19)
		if !slices.Equal(callers, []int{1, 2}) {
			t.Errorf("the writes have %d callers", callers)
		}
	})
}

// TestCallersOfTwoSlots has callers of a later slot wait with those of an
// earlier one. No write charges both.
func TestCallersOfTwoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.charge(t.Context(), 3, 0)
		c.charge(t.Context(), 2, 1)
		c.expect(t, 3, 0, 15, 16, 17, 18, 19)
	})
}

// TestFirstCallerGathers has the first write fail, because another process took
// all units of an earlier window. The next write charges those in line too.
func TestFirstCallerGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.before = func(ctx context.Context, write int) error {
			if write != 1 {
				return nil
			}
			other, all := dynamo.New(c.table.Table, "counters", dynamo.Options{Wall: time.Now}), twenty()
			all.Costs[0] = 20
			return other.Charge(ctx, epoch.Add(-2*time.Minute), all, &limit.Verdict{})
		}
		c.charge(t.Context(), 3, 0)
		c.expect(t, 2, 0, 17, 18, 19)
	})
}

// TestLeaseOfAFullCounter has others take all that a lease leaves. The lease
// still admits, though a snapshot shows that the counter is full.
func TestLeaseOfAFullCounter(t *testing.T) {
	w := newWorld(t, 100, 60)
	leased := w.charge(1)
	leased.Lease = 10
	charge := func(caller string, c *limit.Charge) (v limit.Verdict) {
		if err := w.caller(caller).Charge(context.Background(), w.time(0), c, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range 22 {
		charge("A", leased)
	}
	others := charge("B", w.charge(1)).Remaining
	charge("B", w.charge(others))
	if v := charge("A", w.charge(50)); v.Allowed || v.Remaining != 0 {
		t.Fatalf("the counter is not full: %+v", v.Result)
	}
	if w.caller("A").Denies(w.time(0), leased, &limit.Verdict{}) || !charge("A", leased).Allowed {
		t.Error("the lease does not admit a charge")
	}
}
