package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/apikeys"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestFlood: made-up API keys cost the table a bounded number of reads. A caller
// whose key the Lambda has read is served all the while.
func TestFlood(t *testing.T) {
	client := dynamotest.Connect(t)
	counters, rules := dynamotest.Counters(t, client), dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	table := ruletable.New(client, rules)
	const file = "{authentication: {api_key: {}}, rules: [{name: r, when: {caller: known}, key: '{apikey}', limit: 1000000/hour}]}"
	set, err := rulefile.Parse("rules.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Publish(t.Context(), ruletable.Version{Text: []byte(file), Document: set.Document()}, 0); err != nil {
		t.Fatal(err)
	}
	known := apikeys.New()
	if err := table.CreateAPIKey(t.Context(), ruletable.APIKey{Name: known.Name(), Hash: known.Hash(), ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	engine, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(engine)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"apikey"`)) {
			reads.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer between.Close()
	t.Setenv("AWS_ENDPOINT_URL", between.URL)
	t.Setenv("SLIDEGATE_COUNTERS", counters)
	t.Setenv("SLIDEGATE_RULES", rules)
	t.Setenv("SLIDEGATE_DEADLINE", "5s")
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(k apikeys.Key) (apigw.Response, error) {
		ev := apigw.RequestEvent{Type: "REQUEST", MethodArn: "arn:aws:execute-api:eu-west-1:1:api/prod/GET/x", HTTPMethod: "GET", Path: "/x"}
		ev.RequestContext.Identity.SourceIP = "203.0.113.9"
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
	if n := int(reads.Load()); n > 200+20*passed+1+passed/10 || refused > n {
		t.Errorf("%d reads and %d refused for %d made-up keys in %d s", n, refused, flood, passed)
	}
	t.Logf("%d reads for %d made-up keys", reads.Load(), flood)
}
