package authn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/request"
)

var rs256, hs256, jwtES256 = jwt.SigningMethodRS256, jwt.SigningMethodHS256, jwt.SigningMethodES256

// TestTokens: which tokens an issuer's callers are known by, and that the
// server that an attacker names in a token is never asked.
func TestTokens(t *testing.T) {
	p := newProvider(t, published("k", rsaKey), published("ec", ecKey), published("ed", edKey),
		published("only-ps", rsaKey, "alg", "PS256"), published("encrypts", rsaKey, "use", "enc"), published("short", newRSA(1024)),
		map[string]any{"kid": "secret", "kty": "oct", "k": encode([]byte("a shared secret of 32 characters"))})
	var lured atomic.Int64
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lured.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{published("k", otherKey)}})
	}))
	defer attacker.Close()

	public, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	good := sign(t, rs256, rsaKey, claims(p.URL))
	parts := strings.Split(good, ".")
	foreign := func(header ...any) string { return sign(t, rs256, otherKey, claims(p.URL), header...) }
	changed := func(name string, value any) string { return sign(t, rs256, rsaKey, claims(p.URL, with(name, value))) }
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	raw := func(claims string) string { return signRaw(t, `{"alg":"RS256","kid":"k"}`, claims) }
	valid := fmt.Sprintf(`"iss":%q,"aud":"api","exp":%d`, p.URL, now.Unix()+60)

	for name, test := range map[string]struct {
		token string
		known bool
	}{
		"RS256":   {good, true},
		"PS256":   {sign(t, jwt.SigningMethodPS256, rsaKey, claims(p.URL)), true},
		"ES256":   {sign(t, jwt.SigningMethodES256, ecKey, claims(p.URL), "kid", "ec"), true},
		"EdDSA":   {sign(t, jwt.SigningMethodEdDSA, edKey, claims(p.URL), "kid", "ed"), true},
		"written": {raw("{" + valid + "}"), true},

		"nothing":                         {"", false},
		"dots":                            {"..", false},
		"alg none":                        {sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(p.URL)), false},
		"no alg":                          {encode([]byte(`{"kid":"k"}`)) + "." + parts[1] + "." + parts[2], false},
		"alg of another type":             {encode([]byte(`{"alg":["RS256"],"kid":"k"}`)) + "." + parts[1] + "." + parts[2], false},
		"HMAC by the PEM":                 {sign(t, hs256, asPEM, claims(p.URL)), false},
		"HMAC by a published secret":      {sign(t, hs256, []byte("a shared secret of 32 characters"), claims(p.URL), "kid", "secret"), false},
		"another key":                     {foreign(), false},
		"kid of a URL":                    {foreign("kid", attacker.URL), false},
		"kid of an encryption key":        {sign(t, rs256, rsaKey, claims(p.URL), "kid", "encrypts"), false},
		"kid of a short key":              {sign(t, rs256, rsaKey, claims(p.URL), "kid", "short"), false},
		"no kid among several keys":       {sign(t, rs256, rsaKey, claims(p.URL), "kid", nil), false},
		"alg that the key does not have":  {sign(t, rs256, rsaKey, claims(p.URL), "kid", "only-ps"), false},
		"alg of another curve":            {sign(t, jwt.SigningMethodES384, p384, claims(p.URL), "kid", "ec"), false},
		"alg of another kind of key":      {sign(t, rs256, rsaKey, claims(p.URL), "kid", "ec"), false},
		"jku":                             {foreign("jku", attacker.URL), false},
		"jwk":                             {foreign("jwk", published("k", otherKey)), false},
		"x5c":                             {foreign("x5c", []string{encode(public)}), false},
		"issuer of the attacker":          {sign(t, rs256, otherKey, claims(attacker.URL)), false},
		"issuer with a slash":             {changed("iss", p.URL+"/"), false},
		"no issuer":                       {changed("iss", nil), false},
		"issuers":                         {changed("iss", []string{p.URL}), false},
		"audience among others":           {changed("aud", []string{"billing", "api"}), true},
		"audience of another type":        {changed("aud", 7), false},
		"no audience":                     {changed("aud", nil), false},
		"client in place of audience":     {sign(t, rs256, rsaKey, claims(p.URL, with("aud", nil), with("client_id", "api"))), true},
		"client beside another audience":  {sign(t, rs256, rsaKey, claims(p.URL, with("aud", "billing"), with("client_id", "api"))), false},
		"expired":                         {changed("exp", now.Unix()-31), false},
		"expired within the leeway":       {changed("exp", now.Unix()-29), true},
		"no end":                          {changed("exp", nil), false},
		"end as text":                     {changed("exp", "9999999999"), false},
		"not yet valid":                   {changed("nbf", now.Unix()+31), false},
		"not yet valid within the leeway": {changed("nbf", now.Unix()+29), true},
		"claims of another token":         {parts[0] + "." + strings.Split(changed("sub", "admin"), ".")[1] + "." + parts[2], false},
		"four parts":                      {good + "." + parts[2], false},
		"padding":                         {good + "=", false},
		"spare bits":                      {spareBits(good), false},
		"line break in the header":        {good[:9] + "\n" + good[9:], false},
		"line break in the signature":     {good[:len(good)-9] + "\r" + good[len(good)-9:], false},
		"repeated claim":                  {raw(`{"sub":"a",` + valid + `,"sub":"b"}`), false},
		"repeated claim, escaped":         {raw(`{"sub":"a",` + valid + `,"s\u0075b":"b"}`), false},
		"repeated claim in a list":        {raw(`{"orgs":[{"id":1},{"id":1,"id":2}],` + valid + `}`), false},
		"the same claim in two objects":   {raw(`{"orgs":[{"id":1},{"id":2}],"id":"id",` + valid + `}`), true},
		"repeated field of the header":    {signRaw(t, `{"alg":"RS256","kid":"k","kid":"x"}`, "{"+valid+"}"), false},
		"claims after the claims":         {raw("{" + valid + `}{"sub":"b"}`), false},
		"claims that are a list":          {raw("[{" + valid + "}]"), false},
		"claims that are null":            {raw("null"), false},
		"nested token":                    {signRaw(t, `{"alg":"RS256","kid":"k","cty":"JWT"}`, good), false},
		"large":                           {changed("text", strings.Repeat("x", 11<<10)), true},
		"huge":                            {changed("text", strings.Repeat("x", 13<<10)), false},
		"deep":                            {raw(`{"deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "," + valid + "}"), true},
		"deeper than it ends":             {raw(`{"deep":` + strings.Repeat("[", 10000)), false},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			a := authn.New(of(t, p, ""), nil, nil, slog.New(slog.NewTextHandler(&log, nil)))
			r := ask(t, a, now, test.token)
			want := request.Rejected
			if test.known {
				want = request.Known
			}
			if r.Caller() != want || test.known != (r.Claims != nil) || r.Unverified {
				t.Errorf("caller is %s, want %s; claims %v\n%s", r.Caller(), want, r.Claims, log.String())
			}
			for part := range strings.SplitSeq(test.token, ".") {
				if len(part) > 8 && strings.Contains(log.String(), part) {
					t.Errorf("the log has a part of the token: %s", log.String())
				}
			}
		})
	}
	if n := lured.Load(); n != 0 {
		t.Errorf("%d requests to the server of an attacker", n)
	}
}

// TestAlgorithms: only the algorithms of the document count.
func TestAlgorithms(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	a := authn.New(of(t, p, ", algorithms: PS512"), nil, nil, quiet)
	if r := ask(t, a, now, sign(t, rs256, rsaKey, claims(p.URL))); r.Caller() != request.Rejected {
		t.Errorf("RS256: caller is %s", r.Caller())
	}
	if r := ask(t, a, now, sign(t, jwt.SigningMethodPS512, rsaKey, claims(p.URL), "kid", nil)); r.Caller() != request.Known {
		t.Errorf("PS512 of the only key: caller is %s", r.Caller())
	}
}

// TestWhereTokens: which fields bring a token.
func TestWhereTokens(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	good := sign(t, rs256, rsaKey, claims(p.URL))
	a := authn.New(of(t, p, ""), nil, nil, quiet)
	for _, test := range []struct {
		want   string
		values []string
	}{
		{request.Anonymous, nil},
		{request.Anonymous, []string{""}},
		{request.Anonymous, []string{"Basic dXNlcjpwYXNz"}},
		{request.Anonymous, []string{"AWS4-HMAC-SHA256 Credential=a.b.c"}},
		{request.Known, []string{"Bearer " + good}},
		{request.Known, []string{" bearer   " + good + " "}},
		{request.Known, []string{good}},
		{request.Rejected, []string{"Bearer"}},
		{request.Rejected, []string{"Bearer "}},
		{request.Rejected, []string{"Bearer " + good + ", Bearer " + good}},
		{request.Rejected, []string{"Bearer " + good, "Bearer " + good}},
		{request.Rejected, []string{"Basic dXNlcjpwYXNz", "Bearer " + good}},
		{request.Rejected, []string{"Bearer " + good + " " + good}},
		{request.Rejected, []string{"Bearer " + good + "\x00"}},
		{request.Anonymous, []string{"Bearer: " + good}},
		// A comma list, as an HTTP API makes of repeated fields, brings no token
		// that another server may not see.
		{request.Rejected, []string{"Bearer " + good + ",Basic YTpi"}},
		{request.Anonymous, []string{"Basic YTpi,Bearer " + good}},
		{request.Anonymous, []string{good + "," + good}},
	} {
		r := &request.Request{Method: "GET", Path: "/", Headers: map[string][]string{"aUTHORIZATION": test.values}}
		if err := a.Authenticate(t.Context(), now, r); err != nil || r.Caller() != test.want {
			t.Errorf("%q: caller is %s, error %v; want %s", test.values, r.Caller(), err, test.want)
		}
	}
	preflight := &request.Request{Method: "OPTIONS", Path: "/", Headers: map[string][]string{
		"Origin": {"https://a.example"}, "Access-Control-Request-Method": {"GET"}, "Authorization": {"Bearer x"}}}
	if err := a.Authenticate(t.Context(), now, preflight); err != nil || preflight.Rejected {
		t.Errorf("a preflight is rejected, error %v", err)
	}
}

// TestClaims: claims keep their numbers as the token writes them.
func TestClaims(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	token := signRaw(t, `{"alg":"RS256","kid":"k"}`, fmt.Sprintf(
		`{"iss":%q,"aud":"api","exp":%d,"id":12345678901234567890,"org":{"id":1.50}}`, p.URL, now.Unix()+60))
	r := ask(t, authn.New(of(t, p, ""), nil, nil, quiet), now, token)
	for name, want := range map[string]any{"id": json.Number("12345678901234567890"), "/org/id": json.Number("1.50"), "aud": "api"} {
		if got := r.Claim(name); got != want {
			t.Errorf("claim %s is %#v, want %#v", name, got, want)
		}
	}
}

// TestNoAuthentication: without it in the document, tokens mean nothing.
func TestNoAuthentication(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	off := authn.New(fixed(load(t, "rules: []")), nil, nil, quiet)
	off.Warm(t.Context(), now)
	if r := ask(t, off, now, sign(t, rs256, rsaKey, claims(p.URL))); r.Caller() != request.Anonymous || p.requests.Load() != 0 {
		t.Errorf("caller is %s after %d requests", r.Caller(), p.requests.Load())
	}
}

// spareBits returns a token in another spelling: the last letter of its signature
// has bits that belong to no byte.
func spareBits(token string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(token) - 1
	return token[:last] + letters[strings.IndexByte(letters, token[last])+1:][:1]
}

// FuzzToken: only the token that the issuer signed makes a caller known.
func FuzzToken(f *testing.F) {
	p := newProvider(f, published("k", rsaKey))
	a := authn.New(of(f, p, ""), nil, nil, quiet)
	good := sign(f, rs256, rsaKey, claims(p.URL))
	parts := strings.Split(good, ".")
	for _, token := range []string{
		good, parts[0] + "." + parts[1], parts[0] + ".." + parts[2], "." + parts[1] + "." + parts[2], good[:40] + "\n" + good[40:], spareBits(good),
		encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
	} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		r := &request.Request{Headers: map[string][]string{"authorization": {"Bearer " + token}}}
		if err := a.Authenticate(t.Context(), now, r); err != nil || r.Caller() == request.Known && strings.TrimSpace(token) != good || r.Unverified {
			t.Errorf("%q: caller is %s, error %v", token, r.Caller(), err)
		}
	})
}
