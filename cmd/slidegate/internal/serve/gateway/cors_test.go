package gateway_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/decide/headers"
)

// TestOnlyPreflightsAreFree sends OPTIONS to a path with an exhausted limit and
// to a banned one. Only a preflight passes the limit, and nothing passes the ban.
func TestOnlyPreflightsAreFree(t *testing.T) {
	const origin, method = "Origin: https://app.example\n", "Access-Control-Request-Method: PUT\n"
	for name, test := range map[string]struct {
		fields string
		want   int
	}{
		"a preflight":                  {origin + method, 204},
		"a preflight of no bytes":      {origin + method + "Content-Length: 0\n", 204},
		"no fields":                    {"", 429},
		"no method":                    {origin, 429},
		"no origin":                    {method, 429},
		"a body":                       {origin + method + "Content-Length: 4\n\nbody", 429},
		"a body in chunks":             {origin + method + "Transfer-Encoding: chunked\n\n4\nbody\n0\n", 429},
		"a body whose length it hides": {origin + method + "Connection: content-length\nContent-Length: 4\n\nbody", 429},
		"a protocol that no rule sees": {origin + method + "Connection: Upgrade\nUpgrade: websocket\n", 429},
	} {
		address := serveRules(t, "deny: [{path: /banned}]\nrules: [{name: all, key: all, limits: [{capacity: 1, window: 60s}]}]")
		if status := sendRaw(t, address, "GET /"); status != http.StatusOK {
			t.Fatalf("the first request is answered %d", status)
		}
		for path, want := range map[string]int{"/": test.want, "/banned": http.StatusForbidden, "/x/../banned": http.StatusBadRequest} {
			answer := exchange(t, address, "OPTIONS "+path+" HTTP/1.1\nHost: x\nConnection: close\n"+test.fields+"\n")
			if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", want)) || !strings.Contains(answer, "\r\nAccess-Control-Allow-Origin: *\r\n") {
				t.Errorf("%s: %s is answered\n%s", name, path, answer)
			}
		}
	}
}

// TestServerWideOptions: net/http has an answer of its own to "OPTIONS *".
// Bans and rules apply to it all the same.
func TestServerWideOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSite(t, "deny: [{methods: [OPTIONS]}]\nrules: [{name: all, key: all, limits: [{capacity: 1, window: 60s}]}]", gateway.Options{})
		conn := s.send("OPTIONS * HTTP/1.1\nHost: x\nConnection: close\n\n")
		defer conn.Close()
		if status, _, body := readAnswer(conn); status != http.StatusForbidden {
			t.Errorf("answered %d, %q", status, body)
		}
		s.close(t)
	})
}

// TestCORSOfAnswersForABackend: scripts may read the gateway's own answers.
func TestCORSOfAnswersForABackend(t *testing.T) {
	f := serveBefore(t, "rules: [{name: all, key: all, limits: [{capacity: 1, window: 60s}]}]", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	for _, want := range []int{http.StatusBadGateway, http.StatusTooManyRequests} {
		response, _ := get(t, "GET", "http://"+f.address)
		if response.StatusCode != want || response.Header.Get("Access-Control-Allow-Origin") != "*" || response.Header.Get("Access-Control-Expose-Headers") != headers.Exposed {
			t.Errorf("status %d, fields %v; want status %d and the fields of CORS", response.StatusCode, response.Header, want)
		}
	}
}

// TestOwnFields: a client's fields with names of Slidegate do not reach the
// backend, where they could pass for the limiter's.
func TestOwnFields(t *testing.T) {
	f := serveBefore(t, `rules: [{name: all, key: all, limits: [{capacity: 9, window: 60s}]}]`, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, slices.Sorted(maps.Keys(r.Header)))
	})
	answer := exchange(t, f.address, "GET / HTTP/1.1\nHost: x\nConnection: close, Slidegate-Cost\n"+
		"Slidegate-Receipt: x\nslidegate-cost: a=0\nSLIDEGATE_STATUS: 200\nslidegate.cost: a=0\nX-Slidegate: x\nSlidegates: x\n\n")
	if want := "[Slidegates X-Forwarded-For X-Forwarded-Host X-Forwarded-Port X-Forwarded-Proto X-Slidegate]"; !strings.HasSuffix(answer, "\r\n\r\n"+want) {
		t.Errorf("the backend gets the fields\n%s\nwant %s", answer, want)
	}
}

// TestConnectionNames: a client names a field in Connection, which proxies
// remove. Rules read the field all the same, and the backend gets what they
// read.
func TestConnectionNames(t *testing.T) {
	f := serveBefore(t, `
client_ip: {trusted_hops: 1}
deny: [{cidrs: [203.0.113.9/32]}]
rules: [{name: tenant, key: "t:{header.x-tenant}", limits: [{capacity: 1, window: 60s}]}]`,
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Tenant")) })
	for i, test := range []struct {
		fields string
		want   int
		body   string
	}{
		{"X-Forwarded-For: 203.0.113.9\nConnection: close", 403, ""},
		{"X-Forwarded-For: 203.0.113.9\nConnection: close, x-forwarded-for", 403, ""},
		{"X-Forwarded-For: 203.0.113.9\nConnection: X-Forwarded-For\t,close", 403, ""},
		{"X-Tenant: acme\nConnection: close, X-Tenant", 200, "acme"},
		{"X-Tenant: acme\nConnection: close, X-Tenant\u00a0", 429, ""},
		{"X-Tenant: other\nConnection: close\nConnection: x-tenant", 200, "other"},
	} {
		answer := exchange(t, f.address, "GET / HTTP/1.1\nHost: x\n"+test.fields+"\n\n")
		if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", test.want)) || test.want == 200 && !strings.HasSuffix(answer, "\r\n\r\n"+test.body) {
			t.Errorf("request %d is answered\n%s", i, answer)
		}
	}
}
