package main

import (
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestFlood: made-up API keys cost the table a bounded number of reads. A caller
// whose key the Lambda has read is served all the while.
func TestFlood(t *testing.T) {
	client, _, rules := publish(t, "{authentication: {api_key: {}}, rules: [{name: r, when: {caller: known}, key: '{apikey}', limit: 1000000/hour}]}")
	known := apikeys.New()
	if err := ruletable.New(client, rules).CreateAPIKey(t.Context(), ruletable.APIKey{Name: known.Name(), Hash: known.Hash(), ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	seen := record(t, map[string]string{"a key": `"apikey"`})
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(k apikeys.Key) (apigw.Response, error) {
		ev := event("/x")
		ev.Headers = map[string]string{"x-api-key": k.Secret()}
		answer, _, err := a.Decide(t.Context(), ev)
		return answer, err
	}
	began, refused := time.Now(), 0
	const flood = 2000
	for i := range flood {
		if answer, err := ask(apikeys.New()); errors.Is(err, apigw.ErrUnauthorized) {
			refused++
		} else if err != nil || answer.Context.Degraded != "true" || answer.Context.Rule != "unmatched" {
			t.Fatalf("a made-up key: %v, error %v", answer.Context, err)
		}
		if i%100 != 0 {
			continue
		}
		if answer, err := ask(known); err != nil || answer.Context.Rule != "r" || answer.Context.Allowed != "true" {
			t.Errorf("the known key: %v, error %v", answer.Context, err)
		}
	}
	passed := int(time.Since(began).Seconds()) + 1
	if n := seen["a key: GetItem"]; n == 0 || n > 200+20*passed+1+passed/10 || refused > n {
		t.Errorf("%d reads and %d refused for %d made-up keys in %d s", n, refused, flood, passed)
	}
}
