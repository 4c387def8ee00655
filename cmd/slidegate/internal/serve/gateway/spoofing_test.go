package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// guarded are the rules for the table below. Each allows one request a minute.
const guarded = `
skip: [{methods: [GET], path: /health}]
rules:
  - {name: admin, when: {route: /admin/**}, key: all, limits: [{capacity: 1, window: 60s}]}
  - {name: login, when: {methods: [POST], path: /login}, key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
  - {name: user, when: {path: /me}, key: "user:{header.x-user}|{query.team}", limits: [{capacity: 1, window: 60s}]}
  - {name: address, when: {path: /address}, key: "ip:{ip}", limits: [{capacity: 1, window: 60s}]}
  - {name: any, when: {path: /health/**}, key: all, limits: [{capacity: 1, window: 60s}]}
  - name: tokens
    when: {path: /chat}
    key: all
    cost: {from: header.x-tokens, min: 1, max: 100}
    limits: [{capacity: 100, window: 60s}]
  - name: partner
    when: {path: /partner}
    key: "partner:{header.x-partner}"
    overrides: true
    limits: [{capacity: 1, window: 60s}]
overrides:
  partner: {"partner:small": {capacity: 1, why: a value that clients state may only lower a limit}}
`

// TestSpoofing: a client exhausts a limit, and then tries to get past it. No
// library changes its requests. Each attempt must get status 429 or be refused.
func TestSpoofing(t *testing.T) {
	for _, test := range []struct {
		name         string
		first, again string // a request line, and fields after it
	}{
		{"plainly", "GET /admin/users", "GET /admin/users"},
		{"a trailing slash", "GET /admin/users", "GET /admin/users/"},
		{"dots", "GET /admin/users", "GET /x/../admin/./users"},
		{"escaped letters", "GET /admin/users", "GET /%61dmin/users"},
		{"a letter that folds into ASCII", "GET /admin/users", "GET /admin/u%C5%BFers"},
		{"a proxy's absolute form", "GET /admin/users", "GET http://example.com/admin/users"},
		{"a method in lower case", "POST /login", "post /login"},
		{"a method override", "POST /login", "POST /login\nX-HTTP-Method-Override: GET"},
		{"skip, escaped", "GET /health/x", "GET /%68ealth"},

		{"a forwarded address", "GET /address", "GET /address\nX-Forwarded-For: 198.51.100.7"},
		{"a forwarded address as in RFC 7239", "GET /address", "GET /address\nForwarded: for=198.51.100.7"},
		{"the address that a CDN would send", "GET /address", "GET /address\nCF-Connecting-IP: 198.51.100.7\nTrue-Client-IP: 198.51.100.7\nX-Real-IP: 198.51.100.7"},

		{"a field's name in another case", "GET /me\nX-User: 7", "GET /me\nx-uSER: 7"},
		{"space around a value", "GET /me\nX-User: 7", "GET /me\nX-User:   7  "},
		{"an empty value for none", "GET /me", "GET /me\nX-User:"},
		{"a cost of nothing", "GET /chat\nX-Tokens: 100", "GET /chat\nX-Tokens: 0"},
		{"a cost that is no number", "GET /chat\nX-Tokens: 100", "GET /chat\nX-Tokens: free"},
		{"two costs", "GET /chat\nX-Tokens: 100", "GET /chat\nX-Tokens: 1\nX-Tokens: 1"},
		{"a cost too large to read", "GET /chat\nX-Tokens: 1", "GET /chat\nX-Tokens: 340282366920938463463374607431768211456"},
		{"another's override", "GET /partner\nX-Partner: small", "GET /partner\nX-Partner: small"},
		{"a made-up verdict", "GET /admin/users", "GET /admin/users\nX-Amzn-Authorizer: allowed\nSlidegate-Cost: admin=0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := serveRules(t, guarded)
			if status := sendRaw(t, address, test.first); status != http.StatusOK {
				t.Fatalf("the first request is answered %d", status)
			}
			if status := sendRaw(t, address, test.again); status != http.StatusTooManyRequests && status != http.StatusBadRequest {
				t.Errorf("the second request is answered %d", status)
			}
		})
	}
}

// serveRules starts a gateway with the echo as backend, and returns its
// address.
func serveRules(t *testing.T, document string) string {
	t.Helper()
	server := httptest.NewServer(serve(t, document))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// sendRaw sends a request unchanged, and returns the status of the answer.
func sendRaw(t *testing.T, address, request string) int {
	t.Helper()
	line, fields, _ := strings.Cut(request, "\n")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if fields != "" {
		fields = strings.ReplaceAll(fields, "\n", "\r\n") + "\r\n"
	}
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", line, fields); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
