package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

var errOutage = errors.New("the table fails")

// outage is a table whose reads or writes fail.
type outage struct {
	dynamotest.Double
	failReads, failWrites, called bool
}

func newOutage() *outage {
	o := &outage{}
	o.API = dynamomodel.New("counters", "k")
	o.Get = func(_ context.Context, send dynamotest.Send[dynamodb.GetItemOutput]) (*dynamodb.GetItemOutput, error) {
		o.called = true
		if o.failReads {
			return nil, errOutage
		}
		return send()
	}
	o.Update = func(
		_ context.Context, _ *dynamodb.UpdateItemInput, send dynamotest.Send[dynamodb.UpdateItemOutput],
	) (*dynamodb.UpdateItemOutput, error) {
		if o.failWrites {
			return nil, errOutage
		}
		return send()
	}
	return o
}

// TestOutage checks that a denial which a snapshot of any age proves stands
// while the table fails, and that every other call is an error.
func TestOutage(t *testing.T) {
	at := func(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }
	confirmed := false
	a := newOutage()
	store := dynamo.New(a, "counters", dynamo.Options{
		Wall: func() time.Time { return epoch }, Confirmed: func() bool { return confirmed },
	})
	var v limit.Verdict
	charge := func(second int, cost int64) error {
		return store.Charge(context.Background(), at(second), minute("a", cost), &v)
	}
	if err := charge(30, 9); err != nil || !v.Allowed {
		t.Fatalf("%+v, error %v", v, err)
	}
	a.failReads, a.failWrites = true, true
	if err := charge(31, 1); !errors.Is(err, errOutage) {
		t.Errorf("a charge that may have room: error %v", err)
	}
	if err := charge(31, 2); err != nil || v.Allowed || a.called {
		t.Errorf("a denial by a snapshot: %+v, error %v, called %v", v, err, a.called)
	}
	if err := charge(42, 2); err != nil || v.Allowed || !a.called {
		t.Errorf("a denial by an old snapshot: %+v, error %v, called %v", v, err, a.called)
	}
	if err := store.Peek(context.Background(), at(42), minute("a", 1), &v); !errors.Is(err, errOutage) {
		t.Errorf("a peek: error %v", err)
	}
	if err := charge(42, 0); !errors.Is(err, errOutage) {
		t.Errorf("a charge of zero cost: error %v", err)
	}
	if err := store.Settle(context.Background(), at(42), minute("a", 9), &v.Receipt, []int64{1}); !errors.Is(err, errOutage) {
		t.Errorf("a settlement: error %v", err)
	}
	confirmed = true
	if store.Denies(at(15), minute("a", 9), &v) {
		t.Error("Denies denies by a counter far ahead, want a charge that fails")
	}
	a.failWrites, v.Allowed = false, true // the verdict is that of an earlier request
	if err := charge(15, 1); !errors.Is(err, errOutage) {
		t.Errorf("a snapshot far ahead of a counter that cannot be read: error %v", err)
	}
	a.failReads = false
	if err := charge(15, 1); !errors.Is(err, dynamo.ErrAhead) {
		t.Errorf("a counter far ahead: error %v", err)
	}
	for name, others := range map[string]*limit.Charge{"another charge": minute("b", 1), "a charge of zero cost": minute("b", 0)} {
		vs := []*limit.Verdict{{}, {}}
		err := store.ChargeAll(context.Background(), at(15), []*limit.Charge{minute("a", 1), others}, vs)
		if !errors.Is(err, dynamo.ErrAhead) {
			t.Errorf("a counter far ahead in a group with %s: error %v", name, err)
		}
	}
	a.failReads = true // of the charge of zero cost: then nothing of its group is charged
	store = dynamo.New(a, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	err := store.ChargeAll(context.Background(), epoch, []*limit.Charge{minute("a", 0), minute("b", 1)}, []*limit.Verdict{{}, {}})
	if _, writes := dynamo.Calls(store); !errors.Is(err, errOutage) || writes != 0 {
		t.Errorf("a group whose counter cannot be read: error %v after %d writes", err, writes)
	}
}

// TestUnreadableCounter checks that every call on a counter of another program
// is ErrForeign, whether a read, a refused write or a successful one returns
// it.
func TestUnreadableCounter(t *testing.T) {
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	for name, item := range map[string]map[string]types.AttributeValue{
		"refused":    {"e": number("1"), "aH": number("99999999999")},
		"successful": {"e": number("1")},
	} {
		table := dynamomodel.New("counters", "k")
		item["k"] = &types.AttributeValueMemberS{Value: "a"}
		if err := table.Put("a", item); err != nil {
			t.Fatal(err)
		}
		store := dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
		ctx, v := context.Background(), limit.Verdict{}
		for call, err := range map[string]error{
			"a peek":        store.Peek(ctx, epoch, minute("a", 1), &v),
			"a transaction": store.ChargeAll(ctx, epoch, []*limit.Charge{minute("a", 1), minute("b", 1)}, []*limit.Verdict{{}, {}}),
			"a charge":      store.Charge(ctx, epoch, minute("a", 1), &v),
			"a settlement":  store.Settle(ctx, epoch, minute("a", 1), &limit.Receipt{}, []int64{1}),
		} {
			if !errors.Is(err, dynamo.ErrForeign) {
				t.Errorf("a write %s: %s: error %v", name, call, err)
			}
		}
	}
}

// TestCallsAreCounted counts the units that AWS charges for: each write of a
// transaction counts twice, refused ones too.
func TestCallsAreCounted(t *testing.T) {
	store := dynamo.New(dynamomodel.New("counters", "k"), "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	ctx, v := context.Background(), limit.Verdict{}
	step := func(what string, reads, writes int64, err error) {
		t.Helper()
		if r, w := dynamo.Calls(store); err != nil || r != reads || w != writes {
			t.Errorf("%s: %d reads and %d writes, error %v; want %d and %d", what, r, w, err, reads, writes)
		}
	}
	step("a charge", 0, 1, store.Charge(ctx, epoch, minute("a", 1), &v))
	step("a peek", 1, 1, store.Peek(ctx, epoch, minute("a", 1), &v))
	step("two at once", 1, 5, store.ChargeAll(ctx, epoch, []*limit.Charge{minute("a", 1), minute("b", 1)}, []*limit.Verdict{{}, {}}))
	step("one of them free", 2, 7, store.ChargeAll(ctx, epoch, []*limit.Charge{minute("a", 0), minute("b", 1)}, []*limit.Verdict{{}, {}}))
	step("both of them free", 4, 7, store.ChargeAll(ctx, epoch, []*limit.Charge{minute("a", 0), minute("b", 0)}, []*limit.Verdict{{}, {}}))
	step("a reset", 4, 8, store.Reset(ctx, "a"))
	step("a charge of a counter whose snapshot went with it", 4, 9, store.Charge(ctx, epoch, minute("a", 1), &v))
}

// TestGuarded: faults of the server and lost connections open the breaker, and
// then no call is made until a probe is due. Refusals, such as throttling, never
// open it.
func TestGuarded(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		opens  bool
		want   error
	}{
		"a cut":              {0, "", true, dynamo.ErrUnreachable},
		"a fault":            {500, dynamotest.Error("InternalServerError", ""), true, nil},
		"a load balancer":    {503, "<html>", true, nil},
		"an empty fault":     {500, "", true, nil},
		"a throttled table":  {400, dynamotest.Error("ThrottlingException", ""), false, dynamo.ErrThrottled},
		"throttled by a 503": {503, dynamotest.Error("ThrottlingException", ""), false, dynamo.ErrThrottled},
		"a hot key": {
			400, `{"__type":"x#ThrottlingException","throttlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded"}]}`,
			false, dynamo.ErrHotKey,
		},
		"a missing table": {400, dynamotest.Error("ResourceNotFoundException", ""), false, dynamo.ErrNoTable},
		"a refusal":       {400, `{"__type":"com.amazon.coral.service#UnrecognizedClientException"}`, false, dynamo.ErrNotPermitted},
	} {
		t.Run(name, func(t *testing.T) {
			answer := dynamotest.Fail(test.status, test.body)
			if test.status == 0 {
				answer = dynamotest.Drop
			}
			e := dynamotest.NewEndpoint(t, answer)
			clock := time.Now()
			opened := 0
			guard := breaker.New(func() time.Time { return clock }, func(c breaker.Change) {
				if c.Open {
					opened++
				}
			})
			store := dynamo.New(e.Client().Guarded(guard, 0), "counters", dynamo.Options{Wall: time.Now})
			charge := func() error {
				var v limit.Verdict
				return store.Charge(context.Background(), epoch, minute("a", 1), &v)
			}
			for range 5 {
				if err := charge(); err == nil || errors.Is(err, breaker.ErrOpen) || test.want != nil && !errors.Is(err, test.want) {
					t.Fatalf("error %v, want %v", err, test.want)
				}
			}
			err := charge()
			if errors.Is(err, breaker.ErrOpen) != test.opens || (opened == 1) != test.opens {
				t.Fatalf("then error %v, opened %d times", err, opened)
			}
			if want := map[bool]int{true: 5, false: 6}[test.opens]; e.Count() != want {
				t.Errorf("%d requests, want %d: nothing is sent twice, and nothing to an open breaker", e.Count(), want)
			}
			clock = clock.Add(breaker.ProbeEvery)
			e.Set(dynamotest.Fail(400, dynamotest.Error("ThrottlingException", "")))
			for range 2 { // any answer closes it
				if err := charge(); !errors.Is(err, dynamo.ErrThrottled) {
					t.Errorf("a probe: %v", err)
				}
			}
		})
	}
}

// TestLookupsLeaveTheCountersAlone: lookups that hang, more than there are
// connections, open their own breaker alone, and a charge of the same client still
// finds a connection.
func TestLookupsLeaveTheCountersAlone(t *testing.T) {
	hang := make(chan struct{})
	e := dynamotest.NewEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			dynamotest.Fail(400, dynamotest.Error("ConditionalCheckFailedException", ""))(w, r)
			return
		}
		<-hang
	})
	t.Cleanup(func() { close(hang) })
	client := dynamo.NewClient(dynamodb.New(e.Options(), func(o *dynamodb.Options) { o.HTTPClient = dynamo.Transport() }), time.Now)
	ofCounters, ofLookups := breaker.New(time.Now, func(breaker.Change) {}), breaker.New(time.Now, func(breaker.Change) {})
	lookups, counters := client.Guarded(ofLookups, dynamo.MaxLookups), client.Guarded(ofCounters, 0)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, limit.ErrDeadline)
	defer cancel()
	key := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "a"}}
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			if _, err := lookups.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("rules"), Key: key}); err == nil {
				t.Error("a lookup succeeded")
			}
		})
	}
	for e.Count() < 64 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	_, err := counters.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("counters"), Key: key})
	if _, answered := errors.AsType[*types.ConditionalCheckFailedException](err); !answered {
		t.Errorf("while lookups hang, a call to the counters got %v, want its answer", err)
	}
	all.Wait()
	if !ofLookups.Open() || ofCounters.Open() {
		t.Errorf("the breaker of lookups is open: %t, want true; that of counters: %t, want false", ofLookups.Open(), ofCounters.Open())
	}
}
