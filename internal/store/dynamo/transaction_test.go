package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// busy is a table on which transactions of another caller refuse some of the next
// writes.
type busy struct {
	dynamotest.Double
	reasons []string // of the next transactions, each character a write's: N none, C conflict
	updates int      // number of updates to refuse
	writes  int
}

func (b *busy) update(
	_ context.Context, _ *dynamodb.UpdateItemInput, send func() (*dynamodb.UpdateItemOutput, error),
) (*dynamodb.UpdateItemOutput, error) {
	b.writes++
	if b.updates > 0 {
		b.updates--
		return nil, &types.TransactionConflictException{}
	}
	return send()
}

func (b *busy) transact(send dynamotest.Send[dynamodb.TransactWriteItemsOutput]) (*dynamodb.TransactWriteItemsOutput, error) {
	b.writes++
	if len(b.reasons) == 0 {
		return send()
	}
	failed := &types.TransactionCanceledException{}
	for _, reason := range b.reasons[0] {
		code := map[rune]string{'N': "None", 'C': "TransactionConflict", 'T': "ThrottlingError", 'V': "ValidationError"}[reason]
		failed.CancellationReasons = append(failed.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	b.reasons = b.reasons[1:]
	return nil, failed
}

func blocked(b *busy) (*busy, *dynamo.Store) {
	b.API, b.Update, b.Transact = dynamomodel.New("counters", "k"), b.update, b.transact
	return b, dynamo.New(b, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
}

// minute returns a charge on a limit of ten a minute.
func minute(key string, cost int64) *limit.Charge {
	return &limit.Charge{Key: key, Limits: []limit.Limit{{Capacity: 10, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{cost}}
}

// TestTransactionConflict checks that a write which another caller's
// transaction refuses changes nothing, and counts as one of three attempts.
func TestTransactionConflict(t *testing.T) {
	for name, test := range map[string]struct {
		busy
		writes int
		err    error
	}{
		"twice":                    {busy{updates: 2}, 3, nil},
		"three times":              {busy{updates: 3}, 3, dynamo.ErrContended},
		"a transaction, once":      {busy{reasons: []string{"NC"}}, 2, nil},
		"three attempts":           {busy{reasons: []string{"CN", "CC", "NC"}}, 3, dynamo.ErrContended},
		"a transaction, throttled": {busy{reasons: []string{"NT"}}, 1, dynamo.ErrThrottled},
	} {
		b, store := blocked(&test.busy)
		var vs [2]limit.Verdict
		err := store.Charge(context.Background(), epoch, minute("a", 1), &vs[0])
		if len(b.reasons) > 0 {
			b.writes = 0
			err = store.ChargeAll(context.Background(), epoch, []*limit.Charge{minute("b", 1), minute("c", 1)}, []*limit.Verdict{&vs[0], &vs[1]})
		}
		if !errors.Is(err, test.err) || err == nil && !vs[0].Allowed || b.writes != test.writes {
			t.Errorf("%s: error %v after %d writes, want %v after %d", name, err, b.writes, test.err, test.writes)
		}
	}
}

// TestSnapshotSurvivesATransaction checks that a refused write is planned again
// from the same snapshot, because its answer shows no item.
func TestSnapshotSurvivesATransaction(t *testing.T) {
	b, store := blocked(&busy{})
	var v limit.Verdict
	for i, second := range []int{0, 30, 120, 120} { // the credit is used up, and only the snapshot proves the room
		now := epoch.Add(time.Duration(second) * time.Second)
		b.writes, b.updates = 0, i/2
		if err := store.Charge(context.Background(), now, minute("a", 5), &v); err != nil || !v.Allowed || b.writes != 1+i/2 {
			t.Fatalf("second %d: %+v, error %v after %d writes", second, v, err, b.writes)
		}
	}
}

// TestSettlementMeetsTransaction checks that a settlement is written after a
// transaction conflict, whichever caller settles.
func TestSettlementMeetsTransaction(t *testing.T) {
	b, store := blocked(&busy{})
	var v limit.Verdict
	if err := store.Charge(context.Background(), epoch, minute("a", 1), &v); err != nil {
		t.Fatal(err)
	}
	other := dynamo.New(b, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	b.updates = 2
	if err := other.Settle(context.Background(), epoch, minute("a", 1), &v.Receipt, []int64{9}); err != nil {
		t.Fatal(err)
	}
	if err := store.Peek(context.Background(), epoch, minute("a", 1), &v); err != nil || v.Remaining != 0 {
		t.Errorf("%d left after 1 and 9 of 10, error %v", v.Remaining, err)
	}
	b.updates = 3
	if err := other.Settle(context.Background(), epoch, minute("a", 1), &limit.Receipt{}, []int64{1}); !errors.Is(err, dynamo.ErrContended) {
		t.Errorf("error %v, want ErrContended", err)
	}
}

// TestSnapshotOfTransactionAges refunds units by another process than the one
// that makes the transactions, which reads the item again before a snapshot of
// more than ten seconds denies.
func TestSnapshotOfTransactionAges(t *testing.T) {
	b, store := blocked(&busy{})
	at := func(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }
	all := func(second int, cost int64) limit.Verdict {
		t.Helper()
		vs := []*limit.Verdict{{}, {}}
		if err := store.ChargeAll(context.Background(), at(second), []*limit.Charge{minute("a", cost), minute("b", 1)}, vs); err != nil {
			t.Fatal(err)
		}
		return *vs[0]
	}
	first := all(0, 5)
	for second := 4; second <= 16; second += 4 { // each snapshot is made of the one before
		if v := all(second, 1); !v.Allowed {
			t.Fatalf("second %d: %+v", second, v)
		}
	}
	other := dynamo.New(b, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	if err := other.Settle(context.Background(), at(17), minute("a", 5), &first.Receipt, []int64{-5}); err != nil {
		t.Fatal(err)
	}
	if v := all(18, 3); !v.Allowed {
		t.Errorf("after a refund of five: %+v", v)
	}
}

// TestLastAnswerDeniesAGroup: the answer to the third attempt shows a full
// counter. That denies the group, and is no failure.
func TestLastAnswerDeniesAGroup(t *testing.T) {
	b, others := blocked(&busy{reasons: []string{"NC", "NC"}})
	table := &dynamotest.Double{API: b}
	table.Transact = func(send dynamotest.Send[dynamodb.TransactWriteItemsOutput]) (*dynamodb.TransactWriteItemsOutput, error) {
		if len(b.reasons) == 0 {
			if err := others.Charge(t.Context(), epoch, minute("b", 10), &limit.Verdict{}); err != nil {
				t.Error(err)
			}
		}
		return send()
	}
	store := dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	var vs [2]limit.Verdict
	err := store.ChargeAll(t.Context(), epoch, []*limit.Charge{minute("a", 1), minute("b", 1)}, []*limit.Verdict{&vs[0], &vs[1]})
	if err != nil || !vs[0].Allowed || vs[1].Allowed || len(b.reasons) != 0 {
		t.Errorf("%+v, error %v", vs, err)
	}
}

// TestEightLimits charges eight limits of each algorithm in one write. The
// placeholders of their attributes and values must differ.
func TestEightLimits(t *testing.T) {
	for algorithm := range limit.Algorithm(len(limit.Algorithms())) {
		engine, table := newTable(t)
		store := dynamo.New(engine, table, dynamo.Options{Wall: func() time.Time { return epoch }})
		eight := slices.Repeat([]limit.Limit{one(algorithm)}, limit.MaxLimits)
		c := &limit.Charge{Key: key, Limits: eight, Costs: slices.Repeat([]int64{1}, len(eight))}
		var v limit.Verdict
		check := func(what string, left int64, err error) {
			t.Helper()
			if err != nil || !v.Allowed || v.Remaining != left {
				t.Errorf("%s, %s: %+v, error %v; want %d left of 3", algorithm, what, v.Result, err, left)
			}
		}
		ctx := context.Background()
		check("a new counter", 2, store.Charge(ctx, epoch, c, &v))
		check("by a snapshot", 1, store.Charge(ctx, epoch, c, &v))
		check("in a transaction", 0, store.ChargeAll(ctx, epoch, []*limit.Charge{c}, []*limit.Verdict{&v}))
		if !eight[0].Correctable() {
			continue
		}
		if err := store.Settle(ctx, epoch, c, &v.Receipt, []int64{-1, -1, -1, -1, -1, -1, -1, -1}); err != nil {
			t.Errorf("%s, refund: %v", algorithm, err)
		}
		if err := store.Settle(ctx, epoch, c, &v.Receipt, []int64{1, 1, 1, 1, 1, 1, 1, 1}); err != nil {
			t.Errorf("%s, extra charge: %v", algorithm, err)
		}
		check("refunded and charged again", 0, store.Peek(ctx, epoch, &limit.Charge{Key: key, Limits: eight, Costs: make([]int64, 8)}, &v))
	}
}

// TestDialsAreBounded has 100 clients call an address that takes connections and
// never answers the TLS handshake. Each call gives up after 50 ms, and net/http
// goes on with its dial.
func TestDialsAreBounded(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	proxy := servers.NewProxy(t, server.Listener.Addr().String())
	if err := proxy.Set(servers.Fault{Blackhole: true}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "https://"+proxy.Address)
	store := dynamo.New(dynamotest.Connect(t), "counters", dynamo.Options{Wall: time.Now})
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			for range 6 {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				var v limit.Verdict
				if store.Charge(ctx, epoch, minute("a", 1), &v) == nil {
					t.Error("a charge succeeded")
				}
				cancel()
			}
		})
	}
	clients.Wait()
	const most = 2 * 128 // the proxy counts both sides
	if open := proxy.Most(); open > most || open == 0 {
		t.Errorf("%d connections were open at once, want at most %d", open, most)
	}
}

// TestTurnOfATransaction: a snapshot from before a turn was given back does not tell
// which turn a transaction takes. So its turn stays, and takes no other one along.
func TestTurnOfATransaction(t *testing.T) {
	queue := &limit.Charge{Key: "queue", Limits: []limit.Limit{{Algorithm: limit.LeakyBucket, Capacity: 1, Window: time.Second, Burst: 9}}, Costs: []int64{1}}
	b, late := blocked(&busy{})
	other := dynamo.New(b, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	var v, w limit.Verdict
	charge := func() error { return other.Charge(t.Context(), epoch, queue, &v) }
	giveBack := func(s *dynamo.Store, r *limit.Receipt) error {
		return s.Settle(t.Context(), epoch, queue, r, []int64{-1})
	}
	err := errors.Join(charge(), charge(), late.Peek(t.Context(), epoch, queue, &w), giveBack(other, &v.Receipt),
		late.ChargeAll(t.Context(), epoch, []*limit.Charge{queue, minute("window", 1)}, []*limit.Verdict{&w, {}}), // the turn after 1 s
		charge(), giveBack(late, &w.Receipt), charge())
	if err != nil || v.Delay != 3*time.Second {
		t.Errorf("the next turn is after %v, error %v", v.Delay, err)
	}
}
