package authn_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/request"
)

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
		{"one a minute", time.Minute, 0, 2},
		{"one in ten seconds", 10 * time.Second, 9250 * time.Millisecond, 7},
		{"one a second", time.Second, 9 * time.Second, 9},
		{"four a second", 250 * time.Millisecond, 9500 * time.Millisecond, 9},
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
