package authn_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

var (
	now   = time.Unix(1_792_231_503, 0)
	quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

	rsaKey, otherKey = newRSA(2048), newRSA(2048)
	ecKey, _         = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, _      = ed25519.GenerateKey(rand.Reader)
)

func newRSA(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

// provider is an issuer that publishes keys.
type provider struct {
	*httptest.Server
	jwksURI  string       // other than its own
	issuer   string       // other than its own, in the discovery document
	fetches  atomic.Int64 // of keys
	requests atomic.Int64

	mu     sync.Mutex
	keys   []map[string]any
	status int // of answers, 0 for 200
}

func newProvider(t testing.TB, keys ...map[string]any) *provider {
	p := &provider{keys: keys}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) set(status int, keys ...map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.keys = status, keys
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	p.mu.Lock()
	status, keys := p.status, p.keys
	p.mu.Unlock()
	if status != 0 {
		w.Header().Set("Location", "/keys")
		w.WriteHeader(status)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		at, issuer := p.URL+"/keys", p.URL
		if p.jwksURI != "" {
			at = p.jwksURI
		}
		if p.issuer != "" {
			issuer = p.issuer
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": issuer, "jwks_uri": at})
	case "/keys":
		p.fetches.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// published returns the JWK of a key.
func published(id string, k crypto.Signer, more ...string) map[string]any {
	j := map[string]any{"kid": id, "use": "sig"}
	switch public := k.Public().(type) {
	case *rsa.PublicKey:
		j["kty"], j["n"], j["e"] = "RSA", encode(public.N.Bytes()), encode(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		point, _ := public.Bytes()
		half := (len(point) - 1) / 2
		j["kty"], j["crv"], j["x"], j["y"] = "EC", public.Params().Name, encode(point[1:1+half]), encode(point[1+half:])
	case ed25519.PublicKey:
		j["kty"], j["crv"], j["x"] = "OKP", "Ed25519", encode(public)
	}
	for i := 0; i+1 < len(more); i += 2 {
		j[more[i]] = more[i+1]
	}
	return j
}

// claims are valid ones of an issuer, changed.
func claims(issuer string, changes ...func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{"iss": issuer, "aud": "api", "sub": "user-7", "exp": now.Add(time.Hour).Unix()}
	for _, change := range changes {
		change(c)
	}
	return c
}

func with(name string, value any) func(jwt.MapClaims) {
	return func(c jwt.MapClaims) {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
}

// sign makes a token with the key id k, or the fields in header.
func sign(t testing.TB, method jwt.SigningMethod, k any, c jwt.Claims, header ...any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "k"
	for i := 0; i+1 < len(header); i += 2 {
		token.Header[header[i].(string)] = header[i+1]
		if header[i+1] == nil {
			delete(token.Header, header[i].(string))
		}
	}
	text, err := token.SignedString(k)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// signRaw signs a header and claims as they are written.
func signRaw(t testing.TB, header, claims string) string {
	t.Helper()
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	signature, err := jwt.SigningMethodRS256.Sign(text, rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

func load(t testing.TB, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// of returns the rules of one issuer.
func of(t testing.TB, p *provider, more string) engine.Fixed {
	t.Helper()
	return engine.Fixed{Set: load(t, fmt.Sprintf("authentication: {jwt: [{issuer: %q, audience: api%s}]}\nrules: []", p.URL, more))}
}

// ask returns what an authenticator makes of a request with a token.
func ask(t testing.TB, a *authn.Authenticator, at time.Time, token string) *request.Request {
	t.Helper()
	r := &request.Request{Method: "GET", Path: "/", Headers: map[string][]string{"Authorization": {"Bearer " + token}}}
	if err := a.Authenticate(context.Background(), at, r); err != nil {
		t.Errorf("error %v", err)
	}
	return r
}
