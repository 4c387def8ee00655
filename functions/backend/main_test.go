package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/limit"
	requests "github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// TestHandle: the backend echoes a request and its decision, and answers with the
// fields of limits. The events are what API Gateway sends, cut to what it reads.
func TestHandle(t *testing.T) {
	for name, test := range map[string]struct{ event, method, path, authorizer, fields string }{
		"a limited request": {
			`{"httpMethod":"GET","path":"/v1/items/7","requestContext":{"authorizer":AUTHORIZER}}`, "GET", "/v1/items/7",
			`{"principalId":"slidegate","allowed":"true","rule":"per-user","xRateLimitLimit":"100","xRateLimitRemaining":"50","xRateLimitReset":"30","rateLimit":"\"per-user\";r=50;t=30","rateLimitPolicy":"\"per-user\";q=100;w=60"}`,
			`RateLimit="per-user";r=50;t=30 RateLimit-Policy="per-user";q=100;w=60 X-RateLimit-Limit=100 X-RateLimit-Remaining=50 X-RateLimit-Reset=30`,
		},
		"no authorizer in front": {`{"httpMethod":"GET","path":"/"}`, "GET", "/", `null`, ""},
		"an HTTP API's request": {
			`{"version":"2.0","rawPath":"/v1","requestContext":{"http":{"method":"PUT","path":"/v1"},"authorizer":AUTHORIZER}}`, "PUT", "/v1",
			`{"lambda":{"allowed":"true","xRateLimitLimit":"5"}}`, "X-RateLimit-Limit=5",
		},
		"a context value that is no string": {`{"httpMethod":"GET","path":"/","requestContext":{"authorizer":AUTHORIZER}}`, "GET", "/", `{"limit":100}`, ""},
	} {
		got, err := newBackend(slidegate.NewMemory(0))(t.Context(), json.RawMessage(strings.Replace(test.event, "AUTHORIZER", test.authorizer, 1)))
		if err != nil || got.StatusCode != 200 {
			t.Fatalf("%s: %+v, error %v", name, got, err)
		}
		want := map[string]string{
			"Content-Type": "application/json", "Access-Control-Allow-Origin": "*",
			"Access-Control-Expose-Headers": "RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After",
		}
		for _, field := range strings.Fields(test.fields) {
			name, value, _ := strings.Cut(field, "=")
			want[name] = value
		}
		if d := cmp.Diff(want, got.Headers); d != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, d)
		}
		var echo, body any
		decode(t, `{"method":"`+test.method+`","path":"`+test.path+`","authorizer":`+test.authorizer+`}`, &echo)
		decode(t, got.Body, &body)
		if d := cmp.Diff(echo, body); d != "" {
			t.Errorf("%s: body (-want +got):\n%s", name, d)
		}
	}
}

// TestSettle corrects what a decision has charged by the query of the request.
func TestSettle(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(
		`rules: [{name: chat, key: all, refund_on: 5xx, limits: [{capacity: 400, window: 60s, cost: {from: header.n, min: 1, max: 40, settle: true}}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	store, now := slidegate.NewMemory(0), time.Unix(1_700_000_000, 0)
	quiet := slog.New(slog.DiscardHandler)
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store.Driver()})
	handle := newBackend(store, slidegate.WithClock(func() time.Time { return now }), slidegate.WithLogger(quiet))
	left := int64(400)
	for query, cost := range map[string]int64{`{"limit":"chat","cost":"7"}`: 7, `{"status":"503"}`: 0, `{"status":"404"}`: 40, `null`: 40} {
		now = now.Add(time.Millisecond)
		d, err := e.Decide(t.Context(), now, &requests.Request{Method: "GET", Path: "/"})
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := receipt.Encode(now, d)
		event := `{"httpMethod":"GET","path":"/","queryStringParameters":` + query + `,"requestContext":{"authorizer":{"allowed":"true","receipt":"` + text + `"}}}`
		for range 2 { // the second finds the receipt used
			if _, err := handle(t.Context(), json.RawMessage(event)); err != nil {
				t.Fatal(err)
			}
		}
		left -= cost
		c, v := d.Verdicts[0].Charge, limit.Verdict{}
		if err := store.Driver().Peek(t.Context(), now, &c, &v); err != nil || v.Remaining != left {
			t.Errorf("%s: %d left, want %d, error %v", query, v.Remaining, left, err)
		}
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}
