package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// recorded passes calls on to DynamoDB, and records which there are.
type recorded struct {
	names  map[string]string // of tables, by what they are for
	engine http.Handler

	mu    sync.Mutex
	calls map[string]bool
}

func (c *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	for table, name := range c.names {
		if bytes.Contains(body, []byte(name)) {
			c.calls[table+": "+operation] = true
		}
	}
	c.mu.Unlock()
	c.engine.ServeHTTP(w, r)
}

// TestCalls records the calls of a Lambda that starts, reads rules and
// overrides, allows, denies, and charges two rules at once. The construct's
// policy grants what these calls need, where a transaction of updates needs
// UpdateItem, and GetItem on counters: a snapshot too old to deny is read again,
// see dynamo.TestOldSnapshotIsCheckedBeforeItDenies.
func TestCalls(t *testing.T) {
	client := dynamotest.Connect(t)
	counters, rules := dynamotest.Counters(t, client), dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	const file = `
rules:
  - {name: window, key: "ip:{ip}", overrides: true, limits: [{capacity: 3, window: 1h}]}
  - {name: bucket, key: all, atomic: true, limits: [{algorithm: token_bucket, capacity: 100, window: 1h}]}
  - {name: log, key: all, atomic: true, limits: [{algorithm: sliding_window_log, capacity: 90, window: 1h}]}
`
	set, err := rulefile.Parse("rules.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ruletable.New(client, rules).Publish(t.Context(), ruletable.Version{Text: []byte(file), Document: set.Document()}, 0); err != nil {
		t.Fatal(err)
	}

	engine, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	seen := &recorded{
		names: map[string]string{"counters": counters, "rules": rules}, engine: httputil.NewSingleHostReverseProxy(engine), calls: map[string]bool{},
	}
	between := httptest.NewServer(seen)
	defer between.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": between.URL, "SLIDEGATE_COUNTERS": counters, "SLIDEGATE_RULES": rules, "SLIDEGATE_DEADLINE": "5s",
	} {
		t.Setenv(name, value)
	}
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	ev := apigw.RequestEvent{Type: "REQUEST", MethodArn: "arn:aws:execute-api:eu-west-1:1:api/prod/GET/x", HTTPMethod: "GET", Path: "/x"}
	ev.RequestContext.Identity.SourceIP = "203.0.113.9"
	for i := range 5 {
		answer, _, err := a.Decide(t.Context(), ev)
		if err != nil || answer.Context.Degraded != "false" || (answer.Context.Allowed == "true") != (i < 3) {
			t.Fatalf("request %d: %v, error %v", i, answer.Context, err)
		}
	}
	want := []string{"counters: TransactWriteItems", "counters: UpdateItem", "rules: GetItem"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen.calls))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
