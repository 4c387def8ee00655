package authn_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/request"
)

// TestDiscoveryKeepsToTLS: an issuer with https cannot send the process to http
// on its own machine, where a Lambda has its runtime API.
func TestDiscoveryKeepsToTLS(t *testing.T) {
	local := newProvider(t, published("k", rsaKey))
	var at string
	remote := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": "https://" + r.Host, "jwks_uri": at, "keys": []any{published("k", rsaKey)}})
	}))
	defer remote.Close()
	trusting := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: remote.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}
	for _, test := range []struct{ jwks, want string }{
		{local.URL + "/keys", request.Anonymous},
		{remote.URL + "/keys", request.Known},
	} {
		at = test.jwks
		set := load(t, fmt.Sprintf("authentication: {jwt: [{issuer: %q, audience: api}]}\nrules: []", remote.URL))
		a := authn.New(fixed(set), nil, trusting, quiet)
		if r := ask(t, a, now, sign(t, rs256, rsaKey, claims(remote.URL))); r.Caller() != test.want {
			t.Errorf("keys at %s: caller is %s, want %s", test.jwks, r.Caller(), test.want)
		}
	}
	if n := local.requests.Load(); n != 0 {
		t.Errorf("%d requests to this machine", n)
	}
}

// TestRedirects: no redirect leads anywhere, of neither document.
func TestRedirects(t *testing.T) {
	var lured atomic.Int64
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lured.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{published("k", rsaKey)}})
	}))
	defer attacker.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{attacker.URL, "file:///etc/passwd", "//" + strings.TrimPrefix(attacker.URL, "http://")} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			}))
			for _, jwks := range []string{"", ", jwks: " + server.URL} {
				set := load(t, fmt.Sprintf("authentication: {jwt: [{issuer: %q, audience: api%s}]}\nrules: []", server.URL, jwks))
				if r := ask(t, authn.New(fixed(set), nil, nil, quiet), now, sign(t, rs256, rsaKey, claims(server.URL))); !r.Unverified {
					t.Errorf("%d to %s: caller is %s", status, to, r.Caller())
				}
			}
			server.Close()
		}
	}
	if n := lured.Load(); n != 0 {
		t.Errorf("%d requests to the server of an attacker", n)
	}
}

// TestLogSaysWhatToWrite: the line of the log names what to change in the rules.
func TestLogSaysWhatToWrite(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	asked := func(p *provider, token string) string {
		log.Reset()
		ask(t, authn.New(of(t, p, ""), nil, nil, logger), now, token)
		return log.String()
	}
	p, other, missing := newProvider(t, published("k", rsaKey)), newProvider(t), newProvider(t)
	other.issuer = "https://id.example.com"
	missing.set(http.StatusNotFound)
	for want, got := range map[string]string{
		"is of the issuer \\\"https://id.example.com\\\": write exactly that as issuer": asked(other, sign(t, rs256, rsaKey, claims(other.URL))),
		"status 404: check the issuer, or write the URL of its keys as jwks":            asked(missing, sign(t, rs256, rsaKey, claims(missing.URL))),
		"an audience that the rules do not list":                                        asked(p, sign(t, rs256, rsaKey, claims(p.URL, with("aud", "billing")))),
		"an issuer that the rules do not list":                                          asked(p, sign(t, rs256, rsaKey, claims(other.URL))),
		"token is malformed":                                                            asked(p, "abcd"),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %q: %s", want, got)
		}
	}
}
