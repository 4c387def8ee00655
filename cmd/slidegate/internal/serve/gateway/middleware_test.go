package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/limithttp"
)

// TestMiddlewareAnswersAlike sends the same requests to the local gateway and to
// the middleware of a gate with the same rules, each in front of the same
// backend. Statuses, bodies and all fields of limits are the same.
func TestMiddlewareAnswersAlike(t *testing.T) {
	const document = `
client_ip: {trusted_hops: 1}
deny: [{path: /banned}]
skip: [{path: /health}]
unmatched: deny
rules:
  - {name: hidden, when: {path: /hidden}, key: all, limit: 1/minute, headers: "off"}
  - {name: login, when: {path: /login}, key: "ip:{ip}", limits: [2/second, 3/hour], refund_on: [404]}
  - {name: tenant, when: {path: ["/t/**"]}, key: "tenant:{header.x-tenant}|{query.a}|{method}", limit: 2/minute}
  - {name: bucket, when: {path: /bucket}, key: "host:{header.host}", limit: {algorithm: token_bucket, capacity: 1, window: 1h, burst: 2}}
  - {name: queue, when: {path: /queue}, key: all, limit: {algorithm: leaky_bucket, capacity: 1, window: 1m, queue: 5}}
  - {name: costly, when: {path: /costly}, key: all, limit: {capacity: 10, window: 60s, cost: {from: query.n, min: 1, max: 20, settle: true}}}
`
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Backend", "here")
		if r.Header.Get("Origin") != "" {
			w.Header().Set("Access-Control-Allow-Origin", "https://app.example")
		}
		if cost := r.URL.Query().Get("cost"); cost != "" {
			w.Header().Set("Slidegate-Cost", "costly="+cost)
		}
		if r.URL.Query().Has("missing") {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, "%s %s", r.Method, r.URL)
	})
	source, err := rulesfile.Parse("rules.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(source, slidegate.WithClock(atNow), slidegate.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	behind := httptest.NewServer(backend)
	defer behind.Close()
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]*httptest.Server{
		"gateway":    httptest.NewServer(gateway.New(gateway.Options{Authorizer: newAuthorizer(t, document, atNow, quiet), Backend: target, Log: quiet})),
		"middleware": httptest.NewServer(limithttp.GateMiddleware(g)(backend)),
	}
	for _, line := range []string{
		"GET /banned", "GET /none", "GET /health", "GET /a//b", "GET /login/..%2fbanned", "GET /%62anned",
		"GET /hidden", "GET /hidden", "GET /hidden Origin: https://app.example",
		"GET /login", "GET /login?missing", "GET /login", "GET /login", "POST /login X-Forwarded-For: 198.51.100.7",
		"GET /login X-Forwarded-For: 203.0.113.9, 198.51.100.7", "GET /login X-Forwarded-For: 203.0.113.9", "GET /login X-Forwarded-For: 198.51.100.7 ",
		"GET /t/1 X-Tenant: acme", "PUT /t/1 X-Tenant: acme", "GET /t/2?a=b X-Tenant: acme", "GET /t/3?a=b X-Tenant: acme", "GET /t/3?a=b X-Tenant: acme",
		"GET /t/3?a=b X-Tenant: acme Origin: https://app.example",
		"OPTIONS /t/3 Origin: https://app.example Access-Control-Request-Method: PUT", "OPTIONS /banned Origin: https://app.example Access-Control-Request-Method: PUT",
		"OPTIONS /banned Origin: https://app.example",
		"GET /bucket", "GET /bucket", "GET /bucket", "HEAD /bucket", "GET /bucket Origin: x",
		"GET /queue", "GET /queue", "GET /queue",
		"GET /costly?n=8&cost=2", "GET /costly?n=8", "GET /costly?n=8", "GET /costly?n=20",
	} {
		got := map[string]string{}
		for name, server := range servers {
			got[name] = alike(t, server, line)
		}
		if got["gateway"] != got["middleware"] {
			t.Errorf("%s: the gateway answers\n%s\nthe middleware answers\n%s", line, got["gateway"], got["middleware"])
		}
	}
	for _, server := range servers {
		server.Close()
	}
}

// alike sends a request, "METHOD /path Name: value Name: value", and returns
// what of the answer must be alike.
func alike(t *testing.T, server *httptest.Server, line string) string {
	t.Helper()
	method, rest, _ := strings.Cut(line, " ")
	target, fields, _ := strings.Cut(rest, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "api.example"
	words := strings.Split(fields, ": ")
	for i := 0; i+1 < len(words); i++ {
		name := words[i][strings.LastIndexByte(words[i], ' ')+1:]
		value := words[i+1]
		if i+2 < len(words) {
			value = value[:strings.LastIndexByte(value, ' ')]
		}
		r.Header.Add(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintln(answer.StatusCode, strings.TrimSpace(string(body)))
	for _, name := range []string{
		"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Retry-After", "Retry-After",
		"Content-Type", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Slidegate-Cost", "X-Backend",
	} {
		text += fmt.Sprintln(name, answer.Header.Values(name))
	}
	return text
}
