package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

const roundTrip = 5 * time.Millisecond

// slow is a table whose writes and reads take a round trip, in fake time.
type slow struct {
	dynamotest.Double
	*dynamomodel.Table
	// before is called before each write, from 1 on, and may wait, and fail it.
	// answer is called after it, and may change its answer.
	before func(ctx context.Context, write int) error
	answer func(write int, out *dynamodb.UpdateItemOutput)
	writes atomic.Int64
}

func newSlow() *slow {
	s := &slow{Table: dynamomodel.New("counters", "k")}
	s.API = s.Table
	s.Update = func(
		ctx context.Context, _ *dynamodb.UpdateItemInput, send dynamotest.Send[dynamodb.UpdateItemOutput],
	) (*dynamodb.UpdateItemOutput, error) {
		n := int(s.writes.Add(1))
		time.Sleep(roundTrip)
		if s.before != nil {
			if err := s.before(ctx, n); err != nil {
				return nil, err
			}
		}
		out, err := send()
		if err == nil && s.answer != nil {
			s.answer(n, out)
		}
		return out, err
	}
	s.Get = func(_ context.Context, send dynamotest.Send[dynamodb.GetItemOutput]) (*dynamodb.GetItemOutput, error) {
		time.Sleep(roundTrip)
		return send()
	}
	return s
}

// crowd is callers of one process that charge one key.
type crowd struct {
	table    *slow
	capacity int64
	store    *dynamo.Store
	mu       sync.Mutex
	verdicts []limit.Verdict
	errs     []error
	group    sync.WaitGroup
}

func newCrowd() *crowd {
	table := newSlow()
	return &crowd{table: table, capacity: 20, store: dynamo.New(&table.Double, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})}
}

// charge has callers charge 1 unit each, at a second of the trace. Each waits for
// its write or in line before the next one comes.
func (c *crowd) charge(ctx context.Context, callers, second int) {
	for range callers {
		c.group.Go(func() {
			one, v := twenty(), limit.Verdict{}
			one.Limits[0].Capacity = c.capacity
			err := c.store.Charge(ctx, epoch.Add(time.Duration(second)*time.Second), one, &v)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.verdicts, c.errs = append(c.verdicts, v), append(c.errs, err)
		})
		synctest.Wait()
	}
}

func twenty() *limit.Charge {
	return &limit.Charge{Key: key, Limits: []limit.Limit{{Capacity: 20, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{1}}
}

// finish waits for all callers. It returns the remaining units in the verdicts
// of the admitted ones, and the errors.
func (c *crowd) finish() (left []int64, errs []error) {
	c.group.Wait()
	for i, err := range c.errs {
		if err != nil {
			errs = append(errs, err)
		} else if v := &c.verdicts[i]; v.Allowed {
			left = append(left, v.Remaining)
		}
	}
	slices.Sort(left)
	return left, errs
}

func (c *crowd) expect(t *testing.T, writes, reads int64, left ...int64) {
	t.Helper()
	got, errs := c.finish()
	if len(errs) > 0 || !slices.Equal(got, left) {
		t.Errorf("the admitted have left %d, errors %v; want %d", got, errs, left)
	}
	if r, w := dynamo.Calls(c.store); w != writes || r != reads {
		t.Errorf("%d writes and %d reads, want %d and %d", w, r, writes, reads)
	}
}

// TestCallersShareAWrite has four callers wait for the write of a first one.
// One more write charges all of them, and the verdict of each differs.
func TestCallersShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.charge(t.Context(), 5, 0)
		c.expect(t, 2, 0, 15, 16, 17, 18, 19)
	})
}

// TestCrowdAtTheLimit has 50 callers want 20 units: two writes charge 20
// callers, and the second answer denies the rest.
func TestCrowdAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.charge(t.Context(), 50, 0)
		c.expect(t, 2, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
	})
}

// TestBatchLosesAgainstOthers has another process take 17 of 20 units under the
// write of a batch, which therefore fails. The callers that still fit are
// charged by more writes.
func TestBatchLosesAgainstOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.before = func(ctx context.Context, write int) error {
			if write != 2 {
				return nil
			}
			other, charge := dynamo.New(c.table.Table, "counters", dynamo.Options{Wall: time.Now}), twenty()
			charge.Costs[0] = 17
			return other.Charge(ctx, epoch, charge, &limit.Verdict{})
		}
		c.charge(t.Context(), 5, 0)
		if left, errs := c.finish(); !slices.Equal(left, []int64{0, 1, 19}) || len(errs) > 0 {
			t.Errorf("the admitted have left %d, errors %v", left, errs)
		}
		if _, writes := dynamo.Calls(c.store); writes > 4 { // the callers that still fit may or may not be a batch again
			t.Errorf("%d writes", writes)
		}
	})
}

// TestCallersShareARead has five callers whose snapshot is too old to deny. One
// read serves all.
func TestCallersShareARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.charge(t.Context(), 20, 0)
		c.group.Wait()
		_, before := dynamo.Calls(c.store)
		c.charge(t.Context(), 5, 30)
		c.group.Wait()
		if reads, writes := dynamo.Calls(c.store); reads != 1 || writes != before {
			t.Errorf("%d reads and %d writes, want 1 read", reads, writes-before)
		}
	})
}

// TestImpatience has a write that hangs. The callers that wait for it go on after 50
// milliseconds.
func TestImpatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.before = func(ctx context.Context, write int) error {
			if write == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		began := time.Now()
		hangs, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.charge(hangs, 1, 0)
		c.charge(t.Context(), 2, 0)
		time.Sleep(60 * time.Millisecond)
		synctest.Wait()
		c.mu.Lock()
		if len(c.errs) != 2 {
			t.Errorf("%d callers have an answer %v after a write that hangs began, want 2", len(c.errs), time.Since(began))
		}
		c.mu.Unlock()
		if left, errs := c.finish(); !slices.Equal(left, []int64{18, 19}) || len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) {
			t.Errorf("left %d, errors %v", left, errs)
		}
	})
}

// TestBatchOutlivesItsLeader has the caller whose turn it is hang up under the
// write of its batch: the others are charged. Its own charge may count.
func TestBatchOutlivesItsLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		leader, hangUp := context.WithCancel(t.Context())
		c.table.before = func(ctx context.Context, write int) error {
			if write == 2 {
				hangUp()
				time.Sleep(roundTrip)
			}
			return ctx.Err()
		}
		c.charge(t.Context(), 1, 0)
		c.charge(leader, 1, 0)
		c.charge(t.Context(), 2, 0)
		if left, errs := c.finish(); !slices.Equal(left, []int64{16, 17, 19}) || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
			t.Errorf("left %d, errors %v", left, errs)
		}
	})
}

// TestLastCallerEndsTheWrite has every member of a batch give up.
func TestLastCallerEndsTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		var cause error
		c.table.before = func(ctx context.Context, write int) error {
			if write == 2 {
				<-ctx.Done()
				cause = context.Cause(ctx)
			}
			return ctx.Err()
		}
		c.charge(t.Context(), 1, 0)
		soon, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, limit.ErrDeadline)
		defer cancel()
		c.charge(soon, 3, 0)
		if left, errs := c.finish(); len(left) != 1 || len(errs) != 3 || !errors.Is(errs[0], dynamo.ErrTimeout) {
			t.Errorf("left %d, errors %v", left, errs)
		}
		if synctest.Wait(); !errors.Is(cause, limit.ErrDeadline) {
			t.Errorf("the write ends because of %v, want the deadline of its callers", cause)
		}
	})
}

// TestGivingUpInLine has a caller's context end before its turn: it sends
// nothing.
func TestGivingUpInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.charge(t.Context(), 1, 0)
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		c.charge(soon, 1, 0)
		if left, errs := c.finish(); len(left) != 1 || len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) || c.table.writes.Load() != 1 {
			t.Errorf("left %d, errors %v, %d writes", left, errs, c.table.writes.Load())
		}
	})
}

// TestBatchSharesAnError fails the write of a batch: no member is admitted.
func TestBatchSharesAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.before = func(_ context.Context, write int) error {
			if write == 2 {
				return errOutage
			}
			return nil
		}
		c.charge(t.Context(), 4, 0)
		if left, errs := c.finish(); len(left) != 1 || len(errs) != 3 || !errors.Is(errs[0], errOutage) {
			t.Errorf("left %d, errors %v", left, errs)
		}
	})
}
