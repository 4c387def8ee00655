package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/request"
)

// callers verifies nothing: the field Authorization says who the caller is.
type callers struct{}

func (callers) Authenticate(_ context.Context, _ time.Time, r *request.Request) error {
	for _, value := range r.Header("authorization") {
		switch value {
		case "bad":
			r.Rejected = true
		case "no keys":
			r.Unverified = true
		case "no answer":
			return errors.New("there are no keys")
		default:
			r.Claims = map[string]any{"sub": value}
		}
	}
	return nil
}

// TestUnauthorized: bad credentials are charged, answered
// by 401, and by 429 once a rule denies them.
func TestUnauthorized(t *testing.T) {
	const document = `
deny: [{path: /banned}]
skip: [{path: /health}]
rules:
  - {name: guessing, when: {caller: rejected}, key: "ip:{ip}", limit: 2/minute}
  - {name: users, when: {caller: known}, key: "user:{jwt.sub}", limit: 1/minute}
`
	answered(t, document, []asked{
		{"GET", "/", "", 200},
		{"GET", "/health", "bad", 401},
		{"GET", "/", "bad", 401},
		{"GET", "/", "bad", 401},
		{"GET", "/", "bad", 429},
		{"GET", "/banned", "bad", 403},
		{"GET", "/", "ann", 200},
		{"GET", "/", "ann", 429},
		{"GET", "/", "ben", 200},
		{"GET", "/", "no keys", 200},
		{"GET", "/", "no answer", 503},
		{"OPTIONS", "/", "bad", 204},
	})
}

// TestRequired: a request without credentials is counted and answered 401 if the
// rules require them, and skip does not lift that. Preflights need none. While nothing
// can verify a token, its request gets an error: a 401 would say that it is bad.
func TestRequired(t *testing.T) {
	const document = `
authentication: {api_key: {}, required: [{path: /v1/**}]}
skip: [{path: /v1/skipped}]
rules: [{name: anonymous, when: {caller: anonymous, path: /v1/items}, key: "ip:{ip}", limit: 1/minute}]
`
	answered(t, document, []asked{
		{"GET", "/health", "", 200},
		{"GET", "/v1/items", "", 401},
		{"GET", "/v1/items", "", 429},
		{"GET", "/v1/skipped", "", 401},
		{"GET", "/v1/skipped", "ann", 200},
		{"GET", "/v1/items", "ann", 200},
		{"GET", "/v1/other", "no keys", 503},
		{"GET", "/health", "no keys", 200},
		{"OPTIONS", "/v1/items", "", 204},
	})
}

// asked is a request, and the status of its answer.
type asked struct {
	method, path, credentials string
	want                      int
}

// answered sends requests to a gateway, and compares the answers.
func answered(t *testing.T, document string, requests []asked) {
	t.Helper()
	decider := newDecider(t, document, atNow, quiet)
	decider.Callers = callers{}
	server := httptest.NewServer(gateway.New(gateway.Options{Decider: decider, Log: quiet}))
	defer server.Close()
	for i, test := range requests {
		req, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.credentials != "" {
			req.Header.Set("Authorization", test.credentials)
		}
		if test.method == "OPTIONS" {
			req.Header.Set("Origin", "https://a.example")
			req.Header.Set("Access-Control-Request-Method", "GET")
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		challenge := ""
		if test.want == 401 {
			challenge = `Bearer error="invalid_token"`
		}
		if got := response.Header.Get("WWW-Authenticate"); response.StatusCode != test.want || got != challenge {
			t.Errorf("request %d, %s %s by %q: status %d, WWW-Authenticate %q; want %d", i, test.method, test.path, test.credentials, response.StatusCode, got, test.want)
		}
	}
}
