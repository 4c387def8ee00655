package decideapi_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"testing"
)

const free = `rules: [{name: a, key: "{ip}", limit: 100/hour}]`

// body is a request for decisions. The endpoints for proxies ignore it.
const body = `{"method": "GET", "path": "/", "ip": "203.0.113.1"}`

// Endpoints and the fields by which a caller of theirs describes a request.
var (
	asProgram = []string{"POST", "/v1/decisions", "Content-Type: application/json"}
	asTraefik = []string{"GET", "/v1/forward-auth", aGET, root, from1}
	asNginx   = []string{"GET", "/v1/auth-request", aGET, root, from1}
	asEnvoy   = []string{"GET", "/v1/ext-authz/", from1}
)

// askAt sends a request to a server that listens at an address.
func askAt(t *testing.T, h http.Handler, address, host string, caller []string) answer {
	t.Helper()
	listener, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	at := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = host
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(listener))))
	})
	return send(t, at, caller[0], caller[1], body, caller[2:]...)
}

// TestWebPages: a page in a browser of this machine gets no decision, neither at
// its own name, by DNS rebinding, nor at the server's address. The Host and the
// fields that a proxy sends may be its client's.
func TestWebPages(t *testing.T) {
	const fetch = "Sec-Fetch-Site: cross-site"
	for _, test := range []struct {
		address, host string
		caller        []string
		field         string
		status        int
	}{
		{"127.0.0.1:8080", "localhost:8080", asProgram, "", 200},
		{"192.0.2.1:8080", "limiter.example:8080", asProgram, fetch, 200}, // not on loopback
		{"127.0.0.1:8080", "evil.example:8080", asProgram, "", 421},
		{"127.0.0.1:8080", "127.0.0.1:8080", asProgram, fetch, 403},
		{"127.0.0.1:8080", "shop.example", asTraefik, fetch, 200},
		{"127.0.0.1:8080", "shop.example", asNginx, fetch, 200},
		{"127.0.0.1:8080", "shop.example:8000", asEnvoy, fetch, 200},
		{"127.0.0.1:8080", "evil.example:8080", asTraefik, "", 421},
		{"127.0.0.1:8080", "evil.example:8080", asNginx, "", 421},
		{"127.0.0.1:8080", "evil.example:8080", asEnvoy, "", 421},
	} {
		fields := test.caller
		if test.field != "" {
			fields = append(slices.Clone(fields), test.field)
		}
		got := askAt(t, newAPI(t, free), test.address, test.host, fields)
		if got.StatusCode != test.status {
			t.Errorf("%s at %s, Host %q, %q: status %d, want %d", test.caller[1], test.address, test.host, test.field, got.StatusCode, test.status)
		}
		if test.status >= 400 {
			wantSchema(t, "Problem", got.body)
		}
	}
}

// TestToken: with a token, a program sends it as its own Authorization. A proxy has
// a field of its own for it, which rules do not see.
func TestToken(t *testing.T) {
	const token = "0123456789abcdef"
	h := newAPIWith(t, `rules: [{name: a, key: "{header.slidegate-token}", limit: 9/hour}]`, token, quiet)
	const asBearer, asField = "Authorization: Bearer " + token, "Slidegate-Token: " + token
	for _, caller := range [][]string{asProgram, asTraefik, asNginx, asEnvoy} {
		right, wrong := asField, asBearer
		if caller[1] == "/v1/decisions" {
			right, wrong = asBearer, asField
		}
		for _, fields := range [][]string{
			nil, {wrong}, {right + "0"}, {right[:len(right)-1]}, {right, right},
			{"Authorization: Basic " + token, "Slidegate-Token: "}, {"Authorization: " + token},
		} {
			got := send(t, h, caller[0], caller[1], body, append(slices.Clone(caller[2:]), fields...)...)
			if got.StatusCode != 401 || got.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s with %q: status %d, %v", caller[1], fields, got.StatusCode, got.Header)
			}
			wantSchema(t, "Problem", got.body)
		}
		for range 2 {
			if got := send(t, h, caller[0], caller[1], body, append(slices.Clone(caller[2:]), right)...); got.StatusCode != 200 {
				t.Errorf("%s with the token: status %d, %s", caller[1], got.StatusCode, got.body)
			}
		}
	}
	rebound := askAt(t, h, "127.0.0.1:8080", "host.docker.internal:8080", append(slices.Clone(asProgram), asBearer))
	if rebound.StatusCode != 200 { // a page does not know the token
		t.Errorf("with the token and a name as Host: status %d", rebound.StatusCode)
	}
	// All of them had the key -, so the next request is denied.
	if got := send(t, h, "GET", "/v1/forward-auth", "", append(slices.Clone(asTraefik[2:]), asField)...); got.StatusCode != 429 {
		t.Errorf("status %d: rules see the token", got.StatusCode)
	}
}
