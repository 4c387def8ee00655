package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/receipt"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// failures fails the test for a correction that fails.
type failures struct {
	engine.NoObserver
	t *testing.T
}

func (f failures) StoreFailed(_ context.Context, action, rule, key string, err error) {
	f.t.Errorf("%s %s %s: %v", action, rule, key, err)
}

// TestReceipt settles and refunds in a backend by the receipt alone. The backend
// makes one call for each rule: it needs UpdateItem on the counters, and nothing
// else.
func TestReceipt(t *testing.T) {
	client := dynamotest.Connect(t)
	counters, rules := dynamotest.Counters(t, client), dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	const file = `
rules:
  - {name: chat, key: all, refund_on: 5xx, limits: [{capacity: 400, window: 1h, cost: {from: header.x-tokens, min: 1, max: 40, settle: true}}]}
`
	set, err := rulefile.Parse("rules.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ruletable.New(client, rules).Publish(t.Context(), ruletable.Version{Text: []byte(file), Document: set.Document()}, 0); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"SLIDEGATE_COUNTERS": counters, "SLIDEGATE_RULES": rules, "SLIDEGATE_DEADLINE": "5s", "SLIDEGATE_RECEIPT_SECRET": "0123456789abcdef",
	} {
		t.Setenv(name, value)
	}
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}

	address, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	seen := &recorded{
		names: map[string]string{"counters": counters, "rules": rules}, engine: httputil.NewSingleHostReverseProxy(address), calls: map[string]bool{},
	}
	between := httptest.NewServer(seen)
	defer between.Close()
	t.Setenv("AWS_ENDPOINT_URL", between.URL)
	backend := dynamo.New(dynamotest.Connect(t), counters, dynamo.Options{Wall: time.Now})
	keys, err := receipt.ParseKeys("0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	settler := receipt.NewSettler(backend, keys, failures{t: t})

	left := int64(400)
	for i, step := range []struct {
		outcome engine.Outcome
		cost    int64
	}{
		{engine.Outcome{Status: 200, Costs: map[string]int64{"chat": 7}}, 7},
		{engine.Outcome{Status: 503}, 0},
		{engine.Outcome{Status: 200}, 40},
		{engine.Outcome{Status: 200, Costs: map[string]int64{"chat": 100}}, 100},
	} {
		r, err := settler.TakeHeader(receiptOf(t, a), client.Clock.Now())
		if err != nil || r.Rules != 1 {
			t.Fatalf("step %d: %+v, error %v", i, r, err)
		}
		settler.Finish(t.Context(), client.Clock.Now(), r, &step.outcome)
		if _, writes := dynamo.Calls(backend); i == 0 && writes != 1 {
			t.Errorf("%d writes, want 1", writes)
		}
		left -= step.cost
		c, v := r.Pending[0].Charge, limit.Verdict{}
		if err := dynamo.New(client, counters, dynamo.Options{Wall: time.Now}).Peek(t.Context(), client.Clock.Now(), &c, &v); err != nil {
			t.Fatal(err)
		}
		if v.Remaining != left {
			t.Errorf("step %d: %d left, want %d", i, v.Remaining, left)
		}
	}
	if calls := fmt.Sprint(slices.Sorted(maps.Keys(seen.calls))); calls != "[counters: UpdateItem]" {
		t.Errorf("the backend's calls are %s", calls)
	}
}

// receiptOf returns the receipt in the answer to an event.
func receiptOf(t *testing.T, a *apigw.Authorizer) string {
	t.Helper()
	event := `{"type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-west-1:1:api/prod/GET/x", "httpMethod": "GET", "path": "/x",
		"requestContext": {"identity": {"sourceIp": "203.0.113.9"}}}`
	answer, err := a.Handle(t.Context(), json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	text := answer.(apigw.Response).Context.Receipt
	return text
}
