// Package authn verifies the credentials that requests bring: JSON Web Tokens
// of the issuers that the rules document names, and API keys of a rules table.
//
// A request brings its token in its only Authorization field, after the scheme
// Bearer or, as Amazon Cognito's own authorizers accept, without a scheme. A
// request without a token stays anonymous, and so does one with another scheme.
package authn

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// RuleSource returns the rules in force at a moment.
type RuleSource interface {
	Rules(ctx context.Context, now time.Time) (*rules.Set, error)
}

// APIKeys verifies the API key in a header. For a valid key it sets APIKey
// and Claims, for another Rejected. An error means that the table did not answer. A
// request without the header stays as it is.
type APIKeys interface {
	Authenticate(ctx context.Context, now time.Time, header string, r *request.Request) error
}

// errNoTable is the reason why no key can be verified without a table.
var errNoTable = errors.New("the rules are in a file, and API keys in a rules table")

// Authenticator verifies credentials as the rules in force say. It is safe for
// concurrent use.
type Authenticator struct {
	source RuleSource
	keys   APIKeys // nil without a table
	issued *issuedKeys
	log    *slog.Logger // throttled
	mu     sync.Mutex   // held while verifiers are made
	latest atomic.Pointer[verifiers]
}

// New returns an authenticator. keys verifies API keys; nil if there is no rules
// table. transport fetches the keys of issuers; nil for a transport of its own. log
// limits repeated lines by the attributes issuer and reason, because anybody can
// send tokens. No line has a part of a credential.
func New(source RuleSource, keys APIKeys, transport http.RoundTripper, log *slog.Logger) *Authenticator {
	a := &Authenticator{source: source, keys: keys, issued: newIssuedKeys(newFetcher(transport), log), log: log}
	a.latest.Store(&verifiers{})
	return a
}

// Warm fetches the keys of all issuers, and returns when it has them, when the
// fetches have failed, or when the context ends.
func (a *Authenticator) Warm(ctx context.Context, now time.Time) {
	v, err := a.verifiers(ctx, now)
	if err != nil {
		return // the source of the rules reports it
	}
	var fetches sync.WaitGroup
	for _, issuer := range v.byIssuer {
		fetches.Go(func() { _, _ = a.issued.Get(ctx, now, issuer.location) })
	}
	fetches.Wait()
}

// Authenticate adds what the request's credentials prove: Claims and APIKey if
// they are valid, Rejected if not. While an issuer's keys or the table cannot be
// read, it sets Unverified, or fails under on_error: deny. It also fails without
// rules, and if the context ends while it waits. If a request has a token and an
// API key, both must be valid, and the claims are the token's.
func (a *Authenticator) Authenticate(ctx context.Context, now time.Time, r *request.Request) error {
	v, err := a.verifiers(ctx, now)
	if err != nil || r.IsPreflight() {
		return err
	}
	if len(v.byIssuer) > 0 {
		err = a.verifyToken(ctx, now, v, r)
	}
	if v.gatewayKeys { // an id that a program states, behind --decide, stays
		r.APIKey = cmp.Or(r.GatewayKey, r.APIKey)
	}
	if err == nil && !r.Rejected && v.header != "" && len(r.Header(v.header)) > 0 {
		err = a.verifyAPIKey(ctx, now, v, r)
	}
	return err
}

func (a *Authenticator) verifyAPIKey(ctx context.Context, now time.Time, v *verifiers, r *request.Request) error {
	tokenClaims, err := r.Claims, errNoTable
	if a.keys != nil {
		err = a.keys.Authenticate(ctx, now, v.header, r)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		a.log.ErrorContext(ctx, "an API key could not be verified", "reason", err, "on_error", v.onError)
		if v.onError == "deny" {
			return err
		}
		r.Unverified = true
	case r.Rejected:
		a.log.InfoContext(ctx, "API key rejected")
	case tokenClaims != nil:
		r.Claims = tokenClaims
	}
	return nil
}

func (a *Authenticator) verifyToken(ctx context.Context, now time.Time, v *verifiers, r *request.Request) error {
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

// tokenOf returns the token of a request; ok is false if it brings none. A field
// that begins with Bearer, or is one word with two dots, counts as a token, even
// if no token could look like that: the caller then rejects it.
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

// verifiers is what one set of rules says about credentials.
type verifiers struct {
	of       *rules.Set
	onError  string
	header   string // of API keys; empty if they do not count
	byIssuer map[string]*issuer

	gatewayKeys bool // API keys of API Gateway count
}

// issuer verifies the tokens of one issuer.
type issuer struct {
	ruledoc.TokenIssuer
	leeway   time.Duration
	location location
	keys     *issuedKeys
	unknown  cache.Budget // for fetches
}

// verifiers returns the verifiers of the rules in force, and makes them after the
// rules have changed.
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
	if v := a.latest.Load(); v.of == set {
		return v, nil
	}
	v := &verifiers{of: set, byIssuer: map[string]*issuer{}}
	if d := set.Document().Authentication; d != nil {
		if v.onError = d.OnError; d.APIKey != nil {
			v.header, v.gatewayKeys = d.APIKey.Header, d.APIKey.From != ""
		}
		for _, t := range d.JWT {
			leeway, _ := ruledoc.ParseDuration(t.Leeway) // no error: Compile has read it
			v.byIssuer[t.Issuer] = &issuer{
				TokenIssuer: t, leeway: leeway, location: location{t.Issuer, t.JWKS}, keys: a.issued,
				unknown: cache.Budget{Burst: unknownBurst, PerSecond: unknownPerSecond},
			}
		}
	}
	a.latest.Store(v)
	return v, nil
}
