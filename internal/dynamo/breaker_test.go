package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/breaker"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
)

// answers is a server whose answer a test sets.
type answers struct {
	answer atomic.Pointer[answer]
	calls  atomic.Int64
}

// answer is what a server answers. Status 0 drops the connection.
type answer struct {
	status int
	body   string
}

func (a *answers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.calls.Add(1)
	now := a.answer.Load()
	if now.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(now.status)
	_, _ = w.Write([]byte(now.body))
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
		"a fault":            {500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`, true, nil},
		"a load balancer":    {503, "<html>", true, nil},
		"an empty fault":     {500, "", true, nil},
		"a throttled table":  {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`, false, dynamo.ErrThrottled},
		"throttled by a 503": {503, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`, false, dynamo.ErrThrottled},
		"a hot key":          {400, `{"__type":"x#ThrottlingException","throttlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded"}]}`, false, dynamo.ErrHotKey},
		"a hot key, as before": {
			400, `{"__type":"x#ProvisionedThroughputExceededException","ThrottlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded"}]}`,
			false, dynamo.ErrHotKey,
		},
		"a missing table": {400, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}`, false, dynamo.ErrNoTable},
		"a refusal":       {400, `{"__type":"com.amazon.coral.service#UnrecognizedClientException"}`, false, dynamo.ErrNotPermitted},
	} {
		t.Run(name, func(t *testing.T) {
			a := &answers{}
			a.answer.Store(&answer{test.status, test.body})
			server := httptest.NewServer(a)
			defer server.Close()
			clock := time.Now()
			opened := 0
			guard := breaker.New(func() time.Time { return clock }, func(c breaker.Change) {
				if c.Open {
					opened++
				}
			})
			client := dynamo.NewClient(dynamodb.New(dynamodb.Options{
				BaseEndpoint: aws.String(server.URL), Region: "eu-west-1",
				Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			}), time.Now).Guarded(guard)
			store := dynamo.New(client, "counters", dynamo.Options{Wall: time.Now})
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
			if made := a.calls.Load(); test.opens && made != 5 {
				t.Errorf("%d calls, want 5", made)
			}
			clock = clock.Add(breaker.ProbeEvery)
			a.answer.Store(&answer{400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`})
			for range 2 { // any answer closes it
				if err := charge(); !errors.Is(err, dynamo.ErrThrottled) {
					t.Errorf("a probe: %v", err)
				}
			}
		})
	}
}
