package main

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// record counts the calls of Lambdas by what they mention, of the names of what to
// look for, such as a table.
func record(t *testing.T, names map[string]string) (calls map[string]int) {
	t.Helper()
	var mu sync.Mutex
	calls = map[string]int{}
	dynamotest.Between(t, func(_ http.ResponseWriter, r *http.Request, body []byte) bool {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		mu.Lock()
		defer mu.Unlock()
		for table, name := range names {
			if bytes.Contains(body, []byte(name)) {
				calls[table+": "+operation]++
			}
		}
		return false
	})
	return calls
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
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
