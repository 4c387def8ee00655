package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
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
	client, counters, rules := publish(t, `
rules:
  - {name: chat, key: all, refund_on: 5xx, limits: [{capacity: 400, window: 1h, cost: {from: header.x-tokens, min: 1, max: 40, settle: true}}]}
`)
	t.Setenv("SLIDEGATE_RECEIPT_SECRET", "0123456789abcdef")
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	seen := record(t, map[string]string{"counters": counters, "rules": rules})
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
		raw, err := json.Marshal(event("/x"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := a.Handle(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		r, err := settler.TakeHeader(answer.(apigw.Response).Context.Receipt, client.Clock.Now())
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
	if calls := fmt.Sprint(slices.Sorted(maps.Keys(seen))); calls != "[counters: UpdateItem]" {
		t.Errorf("the backend's calls are %s", calls)
	}
}
