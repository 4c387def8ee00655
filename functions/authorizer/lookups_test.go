package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestFailedLookups: the table of rules refuses, faults or ends connections after
// the start, and the counters' table answers. Requests with made-up API keys, each
// of which fails two lookups, are admitted up to the limit, whatever on_error says.
func TestFailedLookups(t *testing.T) {
	_, counters, rules := publish(t, `
authentication: {api_key: {}}
rules:
  - {name: local, when: {path: /local}, key: "{header.caller}", overrides: true, on_error: local, limit: 3/hour}
  - {name: allow, when: {path: /allow}, key: "{header.caller}", overrides: true, on_error: allow, limit: 3/hour}`)
	var fails atomic.Pointer[http.HandlerFunc] // of the lookups; nil for none
	dynamotest.Between(t, func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		answer := fails.Load()
		if answer == nil || !bytes.Contains(body, []byte(rules)) {
			return false
		}
		(*answer)(w, r)
		return true
	})
	for name, answer := range map[string]http.HandlerFunc{
		"away": dynamotest.Fail(500, dynamotest.Error("InternalServerError", "")), "reset": dynamotest.Drop,
		"throttled": dynamotest.Fail(400, dynamotest.Error("ThrottlingException", "")),
		"denied":    dynamotest.Fail(400, dynamotest.Error("AccessDeniedException", "")),
		"missing":   dynamotest.Fail(400, dynamotest.Error("ResourceNotFoundException", "")),
	} {
		var log bytes.Buffer
		fails.Store(nil)
		a, err := build(t.Context(), slog.New(slog.NewJSONHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		fails.Store(&answer)
		for _, policy := range []string{"local", "allow"} {
			admitted := 0
			for range 10 {
				ev := event("/" + policy)
				ev.Headers = map[string]string{"x-api-key": apikeys.New().Secret(), "caller": name}
				answer, _, err := a.Decide(t.Context(), ev)
				if err != nil {
					t.Fatal(err)
				}
				if answer.Context.Allowed == "true" {
					admitted++
				}
			}
			if admitted != 3 {
				t.Errorf("%s: on_error: %s: %d requests were admitted, want 3\n%s", name, policy, admitted, &log)
			}
		}
		opened := name == "away" || name == "reset"
		if line := fmt.Sprintf(`"store":"dynamodb://%s"`, rules); strings.Contains(log.String(), line) != opened || strings.Contains(log.String(), `"store":"dynamodb://`+counters) {
			t.Errorf("%s: the breaker of the rules table opens: %t, want %t, and never that of the counters\n%s", name, !opened, opened, &log)
		}
	}
}
