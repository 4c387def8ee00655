package authn_test

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

func fixed(set *rules.Set) engine.Fixed { return engine.Fixed{Set: set} }

// TestRotation: keys change while requests go on. Each request has a token by a
// key that the issuer publishes at the moment, and none is rejected.
func TestRotation(t *testing.T) {
	keys := []*rsa.PrivateKey{rsaKey, otherKey, newRSA(2048), newRSA(2048)}
	p := newProvider(t, published("k0", keys[0]))
	a := authn.New(of(t, p, ""), nil, nil, quiet)
	a.Warm(t.Context(), now)
	for i := 1; i < len(keys); i++ {
		at := now.Add(time.Duration(i) * 2 * time.Minute)
		tokens := []string{
			sign(t, rs256, keys[i-1], claims(p.URL), "kid", fmt.Sprint("k", i-1)),
			sign(t, rs256, keys[i], claims(p.URL), "kid", fmt.Sprint("k", i)),
		}
		p.set(0, published(fmt.Sprint("k", i-1), keys[i-1]), published(fmt.Sprint("k", i), keys[i]))
		var traffic sync.WaitGroup
		var known atomic.Int64
		for n := range 8 {
			traffic.Go(func() {
				for j := range 50 {
					if r := ask(t, a, at.Add(time.Duration(j)*time.Millisecond), tokens[(n+j)%2]); r.Caller() == request.Known {
						known.Add(1)
					}
				}
			})
		}
		traffic.Wait()
		if n := known.Load(); n != 400 {
			t.Errorf("rotation %d: %d of 400 requests are of known callers", i, n)
		}
	}
	if n := p.fetches.Load(); n != int64(len(keys)) {
		t.Errorf("%d fetches, want one at the start and one for each rotation", n)
	}
}

// TestRemovedKey: a key that the issuer no longer publishes stops to count once
// the keys are ten minutes old, without any unknown key id.
func TestRemovedKey(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	a := authn.New(of(t, p, ""), nil, nil, quiet)
	leaked := sign(t, rs256, rsaKey, claims(p.URL))
	ask(t, a, now, leaked)
	p.set(0, published("new", otherKey))
	if r := ask(t, a, now.Add(9*time.Minute), leaked); r.Caller() != request.Known {
		t.Errorf("after 9 minutes: caller is %s", r.Caller())
	}
	if r := ask(t, a, now.Add(10*time.Minute), leaked); r.Caller() != request.Rejected {
		t.Errorf("after 10 minutes: caller is %s", r.Caller())
	}
}

// TestOutage: keys stay in force while they cannot be fetched, and no request
// waits for an issuer that does not answer.
func TestOutage(t *testing.T) {
	p := newProvider(t, published("k", rsaKey))
	var log strings.Builder
	a := authn.New(of(t, p, ""), nil, nil, slog.New(slog.NewTextHandler(&log, nil)))
	long := sign(t, rs256, rsaKey, claims(p.URL, with("exp", now.Add(100*time.Hour).Unix())))
	ask(t, a, now, long)
	for _, status := range []int{http.StatusInternalServerError, http.StatusFound, http.StatusNotModified} {
		p.set(status)
		for hour := range 20 {
			if r := ask(t, a, now.Add(time.Duration(hour)*time.Hour), long); r.Caller() != request.Known {
				t.Fatalf("status %d, hour %d: caller is %s", status, hour, r.Caller())
			}
		}
	}
	if !strings.Contains(log.String(), "keys_kept=1") {
		t.Errorf("logged %q", log.String())
	}
}

// TestNoKeys: without any keys, callers are anonymous and decisions degraded, or
// requests fail: as on_error says.
func TestNoKeys(t *testing.T) {
	for document, fails := range map[string]bool{
		"authentication: {jwt: [{issuer: %q, audience: api}]}":                                              false,
		"authentication: {on_error: deny, jwt: [{issuer: %q, audience: api}]}":                              true,
		"defaults: {on_error: deny}, authentication: {jwt: [{issuer: %q, audience: api}]}":                  true,
		"defaults: {on_error: deny}, authentication: {on_error: allow, jwt: [{issuer: %q, audience: api}]}": false,
	} {
		p := newProvider(t)
		p.set(http.StatusServiceUnavailable)
		a := authn.New(fixed(load(t, fmt.Sprintf("{rules: [], "+document+"}", p.URL))), nil, nil, quiet)
		token := sign(t, rs256, rsaKey, claims(p.URL))
		for range 3 {
			r := &request.Request{Method: "GET", Path: "/", Headers: map[string][]string{"authorization": {"Bearer " + token}}}
			err := a.Authenticate(t.Context(), now, r)
			if (err != nil) != fails || r.Unverified == fails || r.Caller() != request.Anonymous {
				t.Errorf("%s: error %v, unverified %t, caller %s", document, err, r.Unverified, r.Caller())
			}
		}
		if n := p.requests.Load(); n != 1 {
			t.Errorf("%d fetches at once, want 1", n)
		}
		p.set(0, published("k", rsaKey))
		if r := ask(t, a, now.Add(11*time.Second), token); r.Caller() != request.Known {
			t.Errorf("11 seconds later: caller is %s", r.Caller())
		}
	}
}

// TestFormWithoutKeys: a token whose form or claims are wrong is rejected without
// any keys, also under on_error: allow. Only its signature may be in doubt.
func TestFormWithoutKeys(t *testing.T) {
	p := newProvider(t)
	p.set(http.StatusServiceUnavailable)
	forged := func(method jwt.SigningMethod, k any, changes ...func(jwt.MapClaims)) string {
		return sign(t, method, k, claims(p.URL, changes...))
	}
	good := forged(rs256, otherKey)
	unsigned := good[:strings.LastIndex(good, ".")+1]
	for name, test := range map[string]struct{ token, want string }{
		"by a key of its own": {good, request.Anonymous},
		"by ECDSA":            {forged(jwtES256, ecKey), request.Anonymous},
		"by EdDSA":            {forged(jwt.SigningMethodEdDSA, edKey), request.Anonymous},
		"of random bytes":     {unsigned + encode(make([]byte, 256)), request.Anonymous},

		"without a signature":      {unsigned, request.Rejected},
		"with a short signature":   {unsigned + encode(make([]byte, 255)), request.Rejected},
		"with a long signature":    {unsigned + encode(make([]byte, 1025)), request.Rejected},
		"with a part of ECDSA's":   {forged(jwtES256, ecKey)[:len(forged(jwtES256, ecKey))-4], request.Rejected},
		"of text":                  {"hello", request.Rejected},
		"of another issuer":        {forged(rs256, otherKey, with("iss", "https://attacker.example")), request.Rejected},
		"that is expired":          {forged(rs256, otherKey, with("exp", now.Unix()-31)), request.Rejected},
		"with a list as key id":    {sign(t, rs256, otherKey, claims(p.URL), "kid", []string{"k"}), request.Rejected},
		"with critical extensions": {sign(t, rs256, otherKey, claims(p.URL), "crit", []string{"b64"}), request.Rejected},
	} {
		before := p.requests.Load()
		a := authn.New(of(t, p, ""), nil, nil, quiet)
		r := ask(t, a, now, test.token)
		asked := p.requests.Load() > before
		if r.Caller() != test.want || r.Unverified != (test.want == request.Anonymous) || asked != r.Unverified {
			t.Errorf("a token %s: caller is %s, unverified %t, issuer asked %t; want %s", name, r.Caller(), r.Unverified, asked, test.want)
		}
	}
}

// silent answers no request.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSlowIssuer: a request waits for a second for the first keys, and the next
// ones not even that long after a failure.
func TestSlowIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const issuer = "https://a.example"
		a := authn.New(fixed(load(t, "{rules: [], authentication: {jwt: [{issuer: '"+issuer+"', audience: api}]}}")), nil, silent{}, quiet)
		token := sign(t, rs256, rsaKey, claims(issuer))
		wait := func(at time.Time, want time.Duration) {
			t.Helper()
			began := time.Now()
			if r := ask(t, a, at, token); !r.Unverified || time.Since(began) != want {
				t.Errorf("caller is %s after %v, want %v", r.Caller(), time.Since(began), want)
			}
		}
		wait(now, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r := &request.Request{Method: "GET", Path: "/", Headers: map[string][]string{"authorization": {"Bearer " + token}}}
		if err := a.Authenticate(ctx, now, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that hangs up: error %v", err)
		}
		time.Sleep(2 * time.Second) // of the bubble's clock: the fetch fails
		wait(now.Add(time.Second), 0)
		wait(now.Add(time.Minute), 100*time.Millisecond)
		time.Sleep(2 * time.Second)
	})
}

// TestDiscovery: what an issuer's own documents must say.
func TestDiscovery(t *testing.T) {
	token := func(p *provider) string { return sign(t, rs256, rsaKey, claims(p.URL)) }
	for name, change := range map[string]func(*provider){
		"of another issuer": func(p *provider) { p.issuer = "https://id.example.com" },
		"keys by http":      func(p *provider) { p.jwksURI = "http://keys.example.com/keys" },
		"keys in a file":    func(p *provider) { p.jwksURI = "file:///etc/passwd" },
		"no keys":           func(p *provider) { p.set(0) },
		"too many keys": func(p *provider) {
			for range 101 {
				p.keys = append(p.keys, published("k", rsaKey))
			}
		},
		"a document too long": func(p *provider) { p.keys[0]["x"] = strings.Repeat("x", 300<<10) },
	} {
		p := newProvider(t, published("k", rsaKey))
		change(p)
		if r := ask(t, authn.New(of(t, p, ""), nil, nil, quiet), now, token(p)); !r.Unverified {
			t.Errorf("%s: caller is %s", name, r.Caller())
		}
	}
	p := newProvider(t, published("k", rsaKey))
	p.issuer = "https://id.example.com" // discovery is not asked
	if r := ask(t, authn.New(of(t, p, ", jwks: "+p.URL+"/keys"), nil, nil, quiet), now, token(p)); r.Caller() != request.Known {
		t.Errorf("with jwks: caller is %s", r.Caller())
	}
}

// changing is a source whose rules change.
type changing struct{ atomic.Pointer[rules.Set] }

func (c *changing) Rules(context.Context, time.Time) (*rules.Set, error) { return c.Load(), nil }

// TestChangedRules: keys that are known stay when the rules change.
func TestChangedRules(t *testing.T) {
	p, second := newProvider(t, published("k", rsaKey)), newProvider(t, published("k", otherKey))
	var source changing
	source.Store(of(t, p, "").Set)
	a := authn.New(&source, nil, nil, quiet)
	ask(t, a, now, sign(t, rs256, rsaKey, claims(p.URL)))
	source.Store(load(t, fmt.Sprintf("authentication: {jwt: [{issuer: %q, audience: other}, {issuer: %q, audience: api}]}\nrules: []", p.URL, second.URL)))
	if r := ask(t, a, now, sign(t, rs256, rsaKey, claims(p.URL))); !r.Rejected {
		t.Errorf("the former audience: caller is %s", r.Caller())
	}
	if r := ask(t, a, now, sign(t, rs256, otherKey, claims(second.URL))); r.Caller() != request.Known {
		t.Errorf("the second issuer: caller is %s", r.Caller())
	}
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("%d fetches of the first issuer, want 1", n)
	}
}
