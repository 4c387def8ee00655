//go:build e2e

package e2e

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// issuer signs tokens, and publishes its key to the Lambda.
type issuer struct {
	*httptest.Server
	key ed25519.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	}))
	t.Cleanup(server.Close)
	return &issuer{server, private}
}

// token returns a token that ends after a time.
func (i *issuer) token(t *testing.T, sub, plan string, end time.Duration) field {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": i.URL, "aud": "api", "sub": sub, "plan": plan, "exp": time.Now().Add(end).Unix()})
	token.Header["kid"] = "k"
	text, err := token.SignedString(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return field{"Authorization", "Bearer " + text}
}

// apiKey makes an API key by command.
func (d *deployment) apiKey(t *testing.T, sub string) field {
	t.Helper()
	var made struct{ Secret string }
	out := command(t, ".", d.cli, "apikeys", "create", "--plan", "pro", "--claim", "sub="+sub, "--why", "test", "--rules", d.rules, "--json")
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return field{"X-Api-Key", made.Secret}
}

// front is an API in front of the Lambda.
type front struct {
	name         string
	ask          func(*testing.T, field) int
	items        string // the address of its items; "" if it has none
	allowed      int
	unauthorized []int // the status of AWS, and that of an emulator that differs
	banned       int
	limited      int
	noKeys       bool // its events have no API keys
}

func (d *deployment) fronts() []front {
	get := func(url string) func(*testing.T, field) int {
		return func(t *testing.T, c field) int { return sendWith(t, http.MethodGet, url, c).status }
	}
	return []front{
		{name: "REST", ask: get(d.url + "/v1/items/1"), items: d.url + "/v1/items/", allowed: 200, unauthorized: []int{401}, banned: 429, limited: 429},
		{name: "TOKEN", ask: get(d.token + "/v1/items/1"), items: d.token + "/v1/items/", allowed: 200, unauthorized: []int{401}, banned: 429, limited: 429, noKeys: true},
		{name: "HTTP", ask: get(d.http + "/v1/items/1"), items: d.http + "/v1/items/", allowed: 200, unauthorized: []int{401}, banned: 403, limited: 429},
		{name: "WebSocket", ask: d.connect, allowed: 101, unauthorized: []int{401, 500}, banned: 403, limited: 403},
	}
}

// answers sends requests with the same credentials, and compares their statuses.
func (f *front) answers(t *testing.T, what string, c field, want ...int) {
	t.Helper()
	for i, status := range want {
		if got := f.ask(t, c); got != status {
			t.Errorf("%s, request %d: answered %d, want %d", what, i, got, status)
		}
	}
}

func (f *front) refuses(t *testing.T, what string, c field) {
	t.Helper()
	if got := f.ask(t, c); !slices.Contains(f.unauthorized, got) {
		t.Errorf("%s: answered %d, want one of %d", what, got, f.unauthorized)
	}
}

// identifies sends requests that need a known caller. The backend gets the claims of
// the token.
func (f *front) identifies(t *testing.T, token field, sub string) {
	t.Helper()
	anonymous := field{"Authorization", "anonymous-" + sub}
	if got := sendWith(t, http.MethodGet, f.items+"private", anonymous); got.status != http.StatusUnauthorized {
		t.Errorf("without credentials: answered %d, want 401", got.status)
	}
	if got := sendWith(t, http.MethodGet, f.items+"open", anonymous); got.status != http.StatusOK {
		t.Errorf("without credentials, where none are required: answered %d, want 200", got.status)
	}
	got := sendWith(t, http.MethodGet, f.items+"private", token)
	about := got.echo.Authorizer
	if lambda, ok := about["lambda"].(map[string]any); ok {
		about = lambda
	} else if about["principalId"] != sub {
		t.Errorf("the principal is %v, want %s", about["principalId"], sub)
	}
	if got.status != http.StatusOK || about["claim_sub"] != sub || about["claim_plan"] != "pro" {
		t.Errorf("with a token: answered %d, with the context %v", got.status, about)
	}
}

// verified sends real tokens and API keys through each API: each plan has its
// limit, and nothing gets through that is not valid.
func (d *deployment) verified(t *testing.T) {
	other := newIssuer(t)
	other.URL = d.issuer.URL // and another key
	for _, f := range d.fronts() {
		t.Run(f.name, func(t *testing.T) {
			id := f.name + d.run
			f.answers(t, "a token without a plan", d.issuer.token(t, "free-"+id, "", time.Hour), f.allowed, f.limited)
			f.answers(t, "a token of plan pro", d.issuer.token(t, "pro-"+id, "pro", time.Hour), f.allowed, f.allowed, f.allowed, f.limited)
			f.answers(t, "a banned token", d.issuer.token(t, "banned", "pro", time.Hour), f.banned)
			f.refuses(t, "an expired token", d.issuer.token(t, "late-"+id, "pro", -time.Hour))
			f.refuses(t, "a forged token", other.token(t, "forged-"+id, "pro", time.Hour))
			f.refuses(t, "no token at all", field{"Authorization", "Bearer"})
			if f.items != "" {
				f.identifies(t, d.issuer.token(t, "known-"+id, "pro", time.Hour), "known-"+id)
			}
			if f.noKeys {
				return
			}
			f.answers(t, "an API key", d.apiKey(t, "key-"+id), f.allowed, f.allowed, f.allowed, f.limited)
			f.refuses(t, "a made-up API key", field{"X-Api-Key", "sg_59b94cffe8b34dbf_7DQ4PWBHSX2LKNAVGTC3MRE6YF"})
		})
	}
	t.Run("guessing is limited", func(t *testing.T) {
		for i, want := range []int{401, 401, 429} {
			got := sendWith(t, http.MethodGet, d.url+"/guess", field{"X-Api-Key", fmt.Sprint("guess ", i)})
			if challenge := got.header.Get("WWW-Authenticate"); got.status != want || (challenge != "") != (want == 401) {
				t.Errorf("guess %d is answered %d with the challenge %q, want %d", i, got.status, challenge, want)
			}
		}
	})
}
