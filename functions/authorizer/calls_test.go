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
)

// recorded passes calls on to DynamoDB, and counts them by what they mention.
type recorded struct {
	names  map[string]string // of what to look for, such as a table
	engine http.Handler

	mu    sync.Mutex
	calls map[string]int
}

// record has Lambdas call DynamoDB through a proxy.
func record(t *testing.T, names map[string]string) *recorded {
	t.Helper()
	engine, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	seen := &recorded{names: names, engine: httputil.NewSingleHostReverseProxy(engine), calls: map[string]int{}}
	between := httptest.NewServer(seen)
	t.Cleanup(between.Close)
	t.Setenv("AWS_ENDPOINT_URL", between.URL)
	return seen
}

func (c *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	for table, name := range c.names {
		if bytes.Contains(body, []byte(name)) {
			c.calls[table+": "+operation]++
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
	_, counters, rules := publish(t, `
rules:
  - {name: window, key: "ip:{ip}", overrides: true, limits: [{capacity: 3, window: 1h}]}
  - {name: bucket, key: all, atomic: true, limits: [{algorithm: token_bucket, capacity: 100, window: 1h}]}
  - {name: log, key: all, atomic: true, limits: [{algorithm: sliding_window_log, capacity: 90, window: 1h}]}
`)
	seen := record(t, map[string]string{"counters": counters, "rules": rules})
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		answer, _, err := a.Decide(t.Context(), event("/x"))
		if err != nil || answer.Context.Degraded != "false" || (answer.Context.Allowed == "true") != (i < 3) {
			t.Fatalf("request %d: %v, error %v", i, answer.Context, err)
		}
	}
	want := []string{"counters: TransactWriteItems", "counters: UpdateItem", "rules: GetItem"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen.calls))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
