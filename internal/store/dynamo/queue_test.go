package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	c := &crowd{table: table, capacity: 20}
	c.store = dynamo.New(&table.Double, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	return c
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
	l := limit.Limit{Capacity: 20, Window: time.Minute, Granularity: time.Second}
	return &limit.Charge{Key: key, Limits: []limit.Limit{l}, Costs: []int64{1}}
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

// ahead returns what another process does before a write.
func (c *crowd) ahead(do func(other *dynamo.Store) error) func(context.Context) error {
	return func(context.Context) error {
		return do(dynamo.New(c.table.Table, "counters", dynamo.Options{Wall: time.Now}))
	}
}

// taken is ahead that charges units some time before the epoch.
func (c *crowd) taken(units int64, before time.Duration) func(context.Context) error {
	return c.ahead(func(other *dynamo.Store) error {
		charge := twenty()
		charge.Costs[0] = units
		return other.Charge(context.Background(), epoch.Add(-before), charge, &limit.Verdict{})
	})
}

// answered has a write answer as if the slot of the epoch had units.
func answered(units string) func(*dynamodb.UpdateItemOutput) {
	return func(out *dynamodb.UpdateItemOutput) {
		out.Attributes["aC"] = &types.AttributeValueMemberN{Value: units}
		out.Attributes["a"+strconv.FormatInt(epoch.Unix(), 36)] = out.Attributes["aC"]
	}
}

// TestCrowd has callers of a limit of 20 charge one key at once. The first of
// them writes alone, and the next write is a batch of those that wait for it.
func TestCrowd(t *testing.T) {
	gone := func(c *crowd) func(context.Context) error {
		return c.ahead(func(other *dynamo.Store) error { return other.Reset(context.Background(), key) })
	}
	for name, test := range map[string]struct {
		charges [][2]int // callers, and the second of their slot
		// before is called before write n, and answer after it.
		n      int
		before func(*crowd) func(context.Context) error
		answer func(*dynamodb.UpdateItemOutput)
		left   []int64 // in the verdicts of the admitted callers, which differ
		failed int
		err    error
		text   string // of the error
		writes int64  // at most
	}{
		"a batch": {charges: [][2]int{{5, 0}}, left: []int64{15, 16, 17, 18, 19}, writes: 2},
		"the answer of a batch denies the rest": {
			charges: [][2]int{{50, 0}}, writes: 2,
			left: []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
		},
		"no write charges two slots": {
			charges: [][2]int{{3, 0}, {2, 1}}, left: []int64{15, 16, 17, 18, 19}, writes: 3,
		},
		"a batch fails, because another process takes 17: who still fits may or may not be a batch again": {
			charges: [][2]int{{5, 0}}, n: 2, left: []int64{0, 1, 19}, writes: 4,
			before: func(c *crowd) func(context.Context) error { return c.taken(17, 0) },
		},
		"an operator deletes the counter: the members charge the new one": {
			charges: [][2]int{{5, 0}}, n: 2, before: gone, left: []int64{16, 17, 18, 19, 19}, writes: 4,
		},
		"the first write fails, because an earlier window is full: the next charges those in line too": {
			charges: [][2]int{{3, 0}}, n: 1, left: []int64{17, 18, 19}, writes: 2,
			before: func(c *crowd) func(context.Context) error { return c.taken(20, 2*time.Minute) },
		},
		"the members of a batch share its error": {
			charges: [][2]int{{4, 0}}, n: 2, left: []int64{19}, failed: 3, err: errOutage, writes: 2,
			before: func(*crowd) func(context.Context) error { return func(context.Context) error { return errOutage } },
		},
		"an answer without an item, of a caller": {
			charges: [][2]int{{1, 0}}, n: 1, failed: 1, writes: 1, text: "has no item",
			answer: func(out *dynamodb.UpdateItemOutput) { out.Attributes = nil },
		},
		"more than the capacity, of a caller": {
			charges: [][2]int{{1, 0}}, n: 1, answer: answered("21"), failed: 1, err: dynamo.ErrForeign, writes: 1,
		},
		"more than the capacity, of a batch": {
			charges: [][2]int{{4, 0}}, n: 2, answer: answered("21"), left: []int64{19}, failed: 3, writes: 2,
			err: dynamo.ErrForeign,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd()
				c.table.before = func(ctx context.Context, write int) error {
					if write != test.n || test.before == nil {
						return nil
					}
					return test.before(c)(ctx)
				}
				c.table.answer = func(write int, out *dynamodb.UpdateItemOutput) {
					if write == test.n && test.answer != nil {
						test.answer(out)
					}
				}
				for _, charges := range test.charges {
					c.charge(t.Context(), charges[0], charges[1])
				}
				left, errs := c.finish()
				if !slices.Equal(left, test.left) || len(errs) != test.failed {
					t.Errorf("the admitted have left %d, errors %v", left, errs)
				}
				for _, err := range errs {
					if test.err != nil && !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.text) {
						t.Errorf("error %v, want %v %s", err, test.err, test.text)
					}
				}
				if reads, writes := dynamo.Calls(c.store); reads > 0 || writes > test.writes {
					t.Errorf("%d reads and %d writes, want at most %d", reads, writes, test.writes)
				}
			})
		})
	}
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
		left, errs := c.finish()
		if !slices.Equal(left, []int64{18, 19}) || len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) {
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
		left, errs := c.finish()
		if !slices.Equal(left, []int64{16, 17, 19}) || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
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
		left, errs := c.finish()
		if len(left) != 1 || len(errs) != 1 || !errors.Is(errs[0], dynamo.ErrTimeout) || c.table.writes.Load() != 1 {
			t.Errorf("left %d, errors %v, %d writes", left, errs, c.table.writes.Load())
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
		c.finish()
		if !slices.Equal(callers, []int{1, 2}) {
			t.Errorf("the writes have %d callers", callers)
		}
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
