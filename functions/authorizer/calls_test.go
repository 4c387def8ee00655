package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
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

// TestCalls records the calls of a Lambda that starts, reads rules, API keys and
// overrides, allows, denies, and charges two rules at once. The construct's
// policy grants what these calls need, where a transaction of updates needs
// UpdateItem, and GetItem on counters: a snapshot too old to deny is read again,
// see dynamo.TestOldSnapshotIsCheckedBeforeItDenies.
func TestCalls(t *testing.T) {
	client, counters, rules := publish(t, `
authentication: {api_key: {}}
rules:
  - {name: window, when: {caller: known}, key: "{apikey}", overrides: true, limits: [{capacity: 3, window: 1h}]}
  - {name: bucket, key: all, atomic: true, limits: [{algorithm: token_bucket, capacity: 100, window: 1h}]}
  - {name: log, key: all, atomic: true, limits: [{algorithm: sliding_window_log, capacity: 90, window: 1h}]}
`)
	known, ev := apikeys.New(), event("/x")
	if err := ruletable.New(client, rules).CreateAPIKey(t.Context(), ruletable.APIKey{Name: known.Name(), Hash: known.Hash(), ID: "acme"}); err != nil {
		t.Fatal(err)
	}
	ev.Headers = map[string]string{"x-api-key": known.Secret()}
	seen := record(t, map[string]string{"counters": counters, "rules": rules})
	a, err := build(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		answer, err := decide(t, a, ev)
		if err != nil || answer.Context.Degraded != "false" || (answer.Context.Allowed == "true") != (i < 3) {
			t.Fatalf("request %d: %v, error %v", i, answer.Context, err)
		}
	}
	want := []string{"counters: TransactWriteItems", "counters: UpdateItem", "rules: GetItem"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

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
				answer, err := decide(t, a, ev)
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
	settler := receipt.NewSettler(backend, keys, nil)

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
		answer, err := decide(t, a, event("/x"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := settler.TakeHeader(answer.Context.Receipt, client.Clock.Now())
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

// TestMetrics runs the binary as Lambda does, floods it with 60 times the limit,
// and shuts it down. The sums of its lines are the answers that the callers got
// and the calls that a proxy before DynamoDB has counted.
func TestMetrics(t *testing.T) {
	_, counters, rules := publish(t, `rules: [{name: api, key: "ip:{ip}", limit: 20/hour}]`)
	seen := record(t, map[string]string{"counters": counters, "rules": rules})
	var log bytes.Buffer
	f := startFunction(t, &log)
	answers := map[string]int64{}
	for range 60 * 20 {
		answers["Decisions"]++
		if !invoke(t, f) {
			answers["Denied"]++
		}
	}
	if err := f.Shutdown(); err != nil {
		t.Fatal(err)
	}
	f.Stop()

	got, snapshots, minutes := map[string]int64{}, 0, 0
	for text := range strings.Lines(log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line["msg"] != "metrics" {
			continue
		}
		minutes++
		if line["Limiter"] != "shop/RateLimit" {
			t.Errorf("the limiter is %v", line["Limiter"])
		}
		for _, name := range []string{"Decisions", "Denied", "Writes", "Reads", "StoreAttempts"} {
			if n, ok := line[name].(float64); ok {
				got[name] += int64(n)
			}
		}
		if n, ok := line["SnapshotDenials"].(float64); ok {
			snapshots += int(n)
		}
	}
	want := map[string]int64{"Decisions": answers["Decisions"], "Denied": answers["Denied"]}
	for call, n := range seen {
		name := "Writes"
		if strings.HasSuffix(call, ": GetItem") {
			name = "Reads"
		}
		want[name] += int64(n)
		want["StoreAttempts"] += int64(n)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sums of %d minutes (-want +got):\n%s\n%s", minutes, diff, &log)
	}
	if answers["Denied"] != 59*20 || snapshots < 58*20 {
		t.Errorf("%d denied, %d of them without a call", answers["Denied"], snapshots)
	}
}

// startFunction builds the binary and starts it. What it writes goes to log.
func startFunction(t *testing.T, log *bytes.Buffer) *servers.Lambda {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "authorizer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("SLIDEGATE_LIMITER", "shop/RateLimit")
	command := exec.Command(binary)
	command.Env, command.Stdout, command.Stderr = os.Environ(), log, log
	f, err := servers.StartLambda(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

// invoke makes a request, and reports whether it was allowed.
func invoke(t *testing.T, f *servers.Lambda) (allowed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ev, err := json.Marshal(event("/x"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.Invoke(ctx, ev)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Context struct{ Allowed string } }
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Context.Allowed == "true"
}
