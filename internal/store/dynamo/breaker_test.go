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
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

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
		"a hot key, as before": {
			400, `{"__type":"x#ProvisionedThroughputExceededException","ThrottlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded"}]}`,
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
			if made := e.Count(); test.opens && made != 5 {
				t.Errorf("%d calls, want 5", made)
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
