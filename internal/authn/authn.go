// Package authn verifies the credentials that requests bring: JSON Web Tokens
// of the issuers that the rules document names.
//
// A token is a request's only Authorization field, with the scheme Bearer, or
// without one as Amazon Cognito's own authorizers take it. A request without a
// token stays anonymous. Other schemes are not a token's.
package authn

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/logthrottle"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// RuleSource returns the rules in force at a moment.
type RuleSource interface {
	Rules(ctx context.Context, now time.Time) (*rules.Set, error)
}

// Authenticator verifies tokens as the rules in force say. It is safe for
// concurrent use.
type Authenticator struct {
	source RuleSource
	fetch  fetcher
	log    *slog.Logger // throttled
	mu     sync.Mutex   // held while verifiers are made
	latest atomic.Pointer[verifiers]
}

// New returns an authenticator. It fetches keys by a transport, nil for one of
// its own. Its log never has a part of a token.
func New(source RuleSource, transport http.RoundTripper, log *slog.Logger) *Authenticator {
	a := &Authenticator{source: source, fetch: newFetcher(transport), log: slog.New(logthrottle.New(log.Handler(), "issuer", "reason"))}
	a.latest.Store(&verifiers{})
	return a
}

// Warm fetches the keys of all issuers, and returns when it has them, when the
// fetches have failed, or when the context ends.
func (a *Authenticator) Warm(ctx context.Context, now time.Time) {
	v, err := a.verifiers(ctx, now)
	if err != nil {
		return // whoever reads the rules reports it
	}
	var fetches sync.WaitGroup
	for _, issuer := range v.byIssuer {
		fetches.Go(func() { issuer.keys.warm(ctx, now) })
	}
	fetches.Wait()
}

// Authenticate adds what the request's credentials prove: Claims, or Rejected,
// or Unverified while there are no keys. With on_error: deny it fails then. It
// also fails without rules, and if the context ends while it waits for keys.
func (a *Authenticator) Authenticate(ctx context.Context, now time.Time, r *request.Request) error {
	v, err := a.verifiers(ctx, now)
	if err != nil || len(v.byIssuer) == 0 || r.IsPreflight() {
		return err
	}
	token, ok := tokenOf(r)
	if !ok {
		return nil
	}
	claims, err := v.verify(ctx, now, token)
	var unverifiable noKeysError
	switch {
	case err == nil:
		r.Claims = claims
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unverifiable):
		a.log.ErrorContext(ctx, "a token could not be verified", "issuer", string(unverifiable), "reason", "no keys yet", "on_error", v.onError)
		if v.onError == "deny" {
			return err
		}
		r.Unverified = true
	default:
		a.log.InfoContext(ctx, "token rejected", "reason", reason(err))
		r.Rejected = true
	}
	return nil
}

// tokenOf returns the token of a request; ok is false if it brings none. What
// cannot be a token counts as an invalid one if it claims to be one.
func tokenOf(r *request.Request) (token string, ok bool) {
	values := r.Header("authorization")
	for _, value := range values {
		scheme, rest, found := strings.Cut(strings.TrimSpace(value), " ")
		switch {
		case found && strings.EqualFold(scheme, "Bearer"):
			token, ok = strings.TrimSpace(rest), true
		case !found && (strings.EqualFold(scheme, "Bearer") || strings.Count(scheme, ".") == 2):
			token, ok = scheme, true
		}
	}
	if len(values) > 1 {
		token = "" // servers differ in which of several fields they read
	}
	return token, ok
}

// verifiers verify the tokens of a set of rules.
type verifiers struct {
	of       *rules.Set
	onError  string
	byIssuer map[string]*issuer
}

// issuer verifies the tokens of one issuer.
type issuer struct {
	ruledoc.TokenIssuer
	leeway time.Duration
	keys   *keyring
}

// verifiers returns those of the rules in force. Keys that are known stay when
// the rules change.
func (a *Authenticator) verifiers(ctx context.Context, now time.Time) (*verifiers, error) {
	set, err := a.source.Rules(ctx, now)
	if err != nil {
		return nil, err
	}
	if v := a.latest.Load(); v.of == set {
		return v, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.latest.Load()
	if last.of == set {
		return last, nil
	}
	v := &verifiers{of: set, byIssuer: map[string]*issuer{}}
	if d := set.Document().Authentication; d != nil {
		v.onError = d.OnError
		for _, t := range d.JWT {
			leeway, _ := ruledoc.ParseDuration(t.Leeway) // no error: Compile has read it
			keys := newKeyring(t.Issuer, t.JWKS, a.fetch, a.log)
			if before := last.byIssuer[t.Issuer]; before != nil && before.JWKS == t.JWKS {
				keys = before.keys
			}
			v.byIssuer[t.Issuer] = &issuer{t, leeway, keys}
		}
	}
	a.latest.Store(v)
	return v, nil
}
