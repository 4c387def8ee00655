package authn_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

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

// apiKeys knows one key, "good".
type apiKeys struct{}

func (apiKeys) Authenticate(_ context.Context, _ time.Time, header string, r *request.Request) error {
	switch sent := r.Header(header); sent[0] {
	case "good":
		r.APIKey, r.Claims = "acme", map[string]any{"plan": "pro"}
	case "outage":
		return errors.New("no answer")
	default:
		r.Rejected = true
	}
	return nil
}

func TestAPIKeys(t *testing.T) {
	for name, test := range map[string]struct {
		fields, header, key string
		keys                authn.APIKeys
		want                string
		unverified, fails   bool
	}{
		"a valid key":          {fields: "api_key: {}", header: "X-Api-Key", key: "good", keys: apiKeys{}, want: request.Known},
		"another header":       {fields: "api_key: {header: X-Key}", header: "x-key", key: "good", keys: apiKeys{}, want: request.Known},
		"not in its header":    {fields: "api_key: {header: X-Key}", header: "x-api-key", key: "bad", keys: apiKeys{}, want: request.Anonymous},
		"a wrong key":          {fields: "api_key: {}", header: "x-api-key", key: "bad", keys: apiKeys{}, want: request.Rejected},
		"an outage":            {fields: "api_key: {}", header: "x-api-key", key: "outage", keys: apiKeys{}, want: request.Anonymous, unverified: true},
		"an outage, and deny":  {fields: "api_key: {}, on_error: deny", header: "x-api-key", key: "outage", keys: apiKeys{}, want: request.Anonymous, fails: true},
		"no table":             {fields: "api_key: {}", header: "x-api-key", key: "good", want: request.Anonymous, unverified: true},
		"no table, and no key": {fields: "api_key: {}, on_error: deny", header: "x-other", key: "good", want: request.Anonymous},
	} {
		a := authn.New(fixed(load(t, "{rules: [], authentication: {"+test.fields+"}}")), test.keys, nil, quiet)
		r := &request.Request{Headers: map[string][]string{test.header: {test.key}}}
		err := a.Authenticate(t.Context(), time.Now(), r)
		if r.Caller() != test.want || r.Unverified != test.unverified || (err != nil) != test.fails {
			t.Errorf("%s: %s, unverified %t, %v; want %s", name, r.Caller(), r.Unverified, err, test.want)
		}
	}
}

// TestGatewayKeys: the id that API Gateway states counts if the document says so,
// whatever headers the client sends.
func TestGatewayKeys(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	token := fmt.Sprintf("jwt: [{issuer: %q, audience: api}]", p.URL)
	good, bad := sign(t, rs256, rsaKey, claims(p.URL)), sign(t, rs256, otherKey, claims(p.URL))
	for name, test := range map[string]struct{ fields, id, token, want, key string }{
		"a key":                        {"api_key: {from: api_gateway}", "a1b2c3d4e5", "", request.Known, "a1b2c3d4e5"},
		"none":                         {"api_key: {from: api_gateway}", "", "", request.Anonymous, ""},
		"a key and a token":            {"api_key: {from: api_gateway}, " + token, "a1b2c3d4e5", good, request.Known, "a1b2c3d4e5"},
		"a key and a bad token":        {"api_key: {from: api_gateway}, " + token, "a1b2c3d4e5", bad, request.Rejected, "a1b2c3d4e5"},
		"keys of the table count":      {"api_key: {header: x-other}", "a1b2c3d4e5", "", request.Anonymous, ""},
		"no keys count":                {token, "a1b2c3d4e5", "", request.Anonymous, ""},
		"no keys count, beside tokens": {token, "a1b2c3d4e5", good, request.Known, ""},
	} {
		a := authn.New(fixed(load(t, "{rules: [], authentication: {"+test.fields+"}}")), apiKeys{}, nil, quiet)
		r := &request.Request{GatewayKey: test.id, Headers: map[string][]string{"x-api-key": {"bad"}}}
		if test.token != "" {
			r.Headers["authorization"] = []string{"Bearer " + test.token}
		}
		if err := a.Authenticate(t.Context(), now, r); err != nil || r.Caller() != test.want || r.APIKey != test.key {
			t.Errorf("%s: caller is %s with the key %q, error %v; want %s with %q", name, r.Caller(), r.APIKey, err, test.want, test.key)
		}
	}
}

// TestStatedKey: an id that a trusted program has stated for its client stays.
func TestStatedKey(t *testing.T) {
	a := authn.New(fixed(load(t, "{rules: [], authentication: {api_key: {from: api_gateway}}}")), apiKeys{}, nil, quiet)
	r := &request.Request{APIKey: "k1"}
	if err := a.Authenticate(t.Context(), now, r); err != nil || r.APIKey != "k1" {
		t.Errorf("the key is %q, error %v", r.APIKey, err)
	}
}

// TestRotationUnderFlood is a trace of twelve minutes. An issuer changes its key every
// 97 seconds, while an attacker sends tokens with made-up key ids. A client uses
// each new key at once, and asks again every 250 ms until it is known. Each row
// has the longest wait of that client, and the most fetches within a minute.
func TestRotationUnderFlood(t *testing.T) {
	for _, test := range []struct {
		flood   string
		every   time.Duration // between made-up key ids; 0 for none
		wait    time.Duration
		fetches int
	}{
		{"none", 0, 0, 1},
		{"one in ten seconds", 10 * time.Second, 9250 * time.Millisecond, 7},
		{"one a second", time.Second, 9 * time.Second, 9},
		{"20 a second", 50 * time.Millisecond, 9250 * time.Millisecond, 9},
	} {
		var wait time.Duration
		var fetches int
		synctest.Test(t, func(t *testing.T) { wait, fetches = rotations(t, test.every) })
		if wait != test.wait || fetches != test.fetches {
			t.Errorf("%s: a wait of %v and %d fetches, want %v and %d", test.flood, wait, fetches, test.wait, test.fetches)
		}
	}
}

// RoundTrip answers as the issuer does, without a network.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

// rotations runs the trace, and returns the longest wait and the most fetches.
func rotations(t *testing.T, madeUp time.Duration) (longest time.Duration, most int) {
	p := &provider{Server: &httptest.Server{URL: "https://id.example.com"}}
	a := authn.New(of(t, p, ""), nil, p, quiet)
	var good string
	var rotated time.Duration
	var fetched []time.Duration // when each fetch began
	known := true
	for at := time.Duration(0); at < 12*time.Minute; at += 50 * time.Millisecond {
		send := func(token string) bool {
			r := ask(t, a, now.Add(at), token)
			for int64(len(fetched)) < p.fetches.Load() {
				fetched = append(fetched, at)
			}
			return r.Caller() == request.Known
		}
		if at%(97*time.Second) == 0 {
			_, k, _ := ed25519.GenerateKey(rand.Reader)
			p.set(0, published(at.String(), k))
			good = sign(t, jwt.SigningMethodEdDSA, k, claims(p.URL), "kid", at.String())
			known, rotated = false, at
		}
		if madeUp > 0 && at%madeUp == 0 && at > 0 {
			send(encode(fmt.Appendf(nil, `{"alg":"EdDSA","kid":"made up %s"}`, at)) + good[strings.Index(good, "."):])
		}
		if !known && at%(250*time.Millisecond) == 0 {
			known, longest = send(good), max(longest, at-rotated)
		}
	}
	for i, first := range fetched {
		n, _ := slices.BinarySearch(fetched[i:], first+time.Minute)
		most = max(most, n)
	}
	return longest, most
}
