package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// TestTokens: the Lambda has the issuer's keys before its first request. A known
// caller has the limit of its plan, and an invalid token is charged before 401.
func TestTokens(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var fetches atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	}))
	defer issuer.Close()
	publish(t, fmt.Sprintf(`
authentication: {jwt: [{issuer: %q, audience: api, jwks: %q}]}
plan: {from: jwt.plan}
plans: {pro: {users: 3}}
rules:
  - {name: users, when: {caller: known}, key: "user:{jwt.sub}", limit: 1/hour}
  - {name: guessing, when: {caller: rejected}, key: "ip:{ip}", limit: 2/hour}
`, issuer.URL, issuer.URL+"/keys"))
	a, err := build(t.Context(), quiet)
	if err != nil || fetches.Load() != 1 {
		t.Fatalf("%d fetches at the start, error %v", fetches.Load(), err)
	}
	token := func(plan string, end time.Duration) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": issuer.URL, "aud": "api", "sub": "of " + plan, "plan": plan, "exp": time.Now().Add(end).Unix()})
		token.Header["kid"] = "k"
		text, err := token.SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, test := range map[string]struct {
		token   string
		allowed int
		err     error
	}{
		"pro":     {token("pro", time.Hour), 3, nil},
		"free":    {token("free", time.Hour), 1, nil},
		"expired": {token("pro", -time.Hour), 2, apigw.ErrUnauthorized},
	} {
		ev := event("/x")
		ev.Headers = map[string]string{"authorization": "Bearer " + test.token}
		for i := range 5 {
			answer, _, err := a.Decide(t.Context(), ev)
			want, allowed := test.err, "true"
			if i >= test.allowed {
				want, allowed = nil, "false"
			}
			if !errors.Is(err, want) || err == nil && (answer.Context.Allowed != allowed || answer.Context.Degraded != "false") {
				t.Errorf("%s, request %d: %v, error %v; want allowed %s, error %v", name, i, answer.Context, err, allowed, want)
			}
		}
	}
	if n := fetches.Load(); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}
