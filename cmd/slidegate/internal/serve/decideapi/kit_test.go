package decideapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

var (
	quiet = slog.New(slog.DiscardHandler)
	start = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
)

// exampleRules are the rules of the proxies' examples.
func exampleRules(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../../../examples/proxies/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// newAPI returns the handler with rules as YAML, at a time that stands still.
func newAPI(t testing.TB, rules string) http.Handler {
	t.Helper()
	return newAPIWith(t, rules, "", quiet)
}

func newAPIWith(t testing.TB, rules, token string, log *slog.Logger) http.Handler {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	store, now := memory.New(0), func() time.Time { return start }
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store})
	return decideapi.New(newCalls(&engine.Decider{Engine: e, Now: now}, store, now, log), token)
}

// newCalls returns the calls of a decider, with receipts.
func newCalls(d api.Decider, store limit.Store, now func() time.Time, log *slog.Logger) *api.API {
	return &api.API{
		Calls:   []string{api.Decisions, api.Settlements, api.Renewals, api.Usage},
		Decider: d, Store: store, Now: now, Keys: receipt.Keys{[]byte("0123456789abcdef")}, Observer: engine.NoObserver{},
		Log: oplog.Throttle(log, "rule"),
	}
}

// answer is an answer with its body read.
type answer struct {
	*http.Response
	body string
}

// send sends a request to a handler. Fields are "Name: value".
func send(t testing.TB, h http.Handler, method, target, body string, fields ...string) answer {
	t.Helper()
	request := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	request.RequestURI = target
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Header.Add(name, value)
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	response := recorder.Result()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(text)}
}

// decide sends a request as JSON.
func decide(t testing.TB, h http.Handler, body string) answer {
	t.Helper()
	return send(t, h, "POST", "/v1/decisions", body, "Content-Type: application/json")
}

// read reads a JSON value.
func read[T any](t testing.TB, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}
