package apigw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// as is an authenticator for which every caller has these credentials.
type as request.Request

func (c as) Authenticate(_ context.Context, _ time.Time, r *request.Request) error {
	r.Claims, r.APIKey, r.Rejected, r.Unverified = c.Claims, c.APIKey, c.Rejected, c.Unverified
	return nil
}

const authentication = "authentication: {jwt: [{issuer: 'https://a.example', audience: x}], "

// TestPassClaims: backends of every kind get the named claims of known callers, as
// text. The log names what they do not get.
func TestPassClaims(t *testing.T) {
	claims := map[string]any{}
	err := json.Unmarshal([]byte(`{"sub": "auth0|ann \"A\"", "n": 12, "admin": true, "scope": "a b", "roles": ["x", 7, false], "none": [], "null": null,
		"allowed": "false", "https://a.example/x": "u", "realm": {"roles": ["y"]}, "mixed": ["x", {}], "spaced": ["not admin"], "big": "`+strings.Repeat("ü", 1000)+`"}`), &claims)
	if err != nil {
		t.Fatal(err)
	}
	document := authentication + "pass_claims: [sub, n, admin, scope, roles, none, 'null', allowed, 'https://a.example/x', realm, /realm/roles, mixed, spaced, big, missing]}\nrules: []"
	want := map[string]any{
		"claim_sub": `auth0|ann "A"`, "claim_n": "12", "claim_admin": "true", "claim_scope": "a b", "claim_roles": "x 7 false",
		"claim_allowed": "false", "claim_https://a.example/x": "u", "claim_/realm/roles": "y",
	}
	for name, test := range kinds {
		var log strings.Builder
		a, _ := kindAuthorizer(t, document)
		a.Policies, a.Log = test.policies, slog.New(slog.NewTextHandler(&log, nil))
		for caller, want := range map[string]struct {
			as
			claims map[string]any
		}{
			"known": {as{Claims: claims}, want}, "anonymous": {}, "rejected": {as{Claims: claims, Rejected: true}, nil}, "a key": {as{APIKey: "k"}, nil},
		} {
			log.Reset()
			a.Callers = want.as
			answer, err := a.Handle(t.Context(), rawEvent(t, test.event))
			if err != nil && caller != "rejected" {
				t.Fatal(err)
			}
			text, _ := json.Marshal(answer)
			var got asAnswered
			_ = json.Unmarshal(text, &got)
			about := map[string]any{}
			maps.Copy(about, got.Context)
			maps.Copy(about, got.Resolver)
			if about["allowed"] == "true" == (caller == "rejected") {
				t.Errorf("%s, %s: %s", name, caller, text)
			}
			maps.DeleteFunc(about, func(name string, _ any) bool { return !strings.HasPrefix(name, "claim_") })
			if d := cmp.Diff(want.claims, about); d != "" && len(about)+len(want.claims) > 0 {
				t.Errorf("%s, %s (-want +got):\n%s", name, caller, d)
			}
			for _, claim := range []string{"realm", "mixed", "spaced", "big"} {
				if strings.Contains(log.String(), "claim="+claim+" ") != (caller == "known") {
					t.Errorf("%s, %s: log %s", name, caller, log.String())
				}
			}
			if strings.Contains(log.String(), "ann") || strings.Count(log.String(), "\n") > 4 {
				t.Errorf("%s, %s: log %s", name, caller, log.String())
			}
		}
	}
}

// TestContextSize: the context of an allowed request stays below 6 KB of JSON, with
// the largest receipt, any number of limits, and claims that JSON makes longer. The
// claims have 2,048 bytes at most.
func TestContextSize(t *testing.T) {
	claims, names := map[string]any{}, []string{}
	for i := range 16 {
		name := fmt.Sprintf("%s%d", strings.Repeat("c", 100), i)
		names, claims[name] = append(names, name), strings.Repeat("\"<\u0001", i*3)
	}
	for _, n := range []int{1, 5, 20, 60, 150} {
		var document strings.Builder
		fmt.Fprintf(&document, "headers: both\n%spass_claims: [%s]}\nrules:\n", authentication, strings.Join(names, ", "))
		for i := range n {
			fmt.Fprintf(&document, "- {name: rule-%s%d, key: all, refund_on: 5xx, limit: {name: l%s, capacity: 999999999999999, window: 3650d}}\n",
				strings.Repeat("x", 40), i, strings.Repeat("y", 29))
		}
		a, _ := kindAuthorizer(t, document.String())
		a.Receipts = receipt.NewIssuer(receipt.Keys{[]byte(secret)}, slog.New(slog.DiscardHandler))
		a.Callers = as{Claims: claims}
		answer, err := a.Handle(t.Context(), rawEvent(t, "websocket"))
		if err != nil {
			t.Fatal(err)
		}
		about := answer.(apigw.Response).Context
		text, _ := json.Marshal(about)
		passed, _ := json.Marshal(about.Claims)
		if len(text) >= 6<<10 || len(passed) > 2048+2 || len(about.Claims) != 7 || about.Receipt == "" ||
			(about.RateLimit != "") != (n <= 5) || (about.RateLimitPolicy != "") != (n <= 5) {
			t.Errorf("%d rules: %d bytes, %d of %d claims, %d of the receipt, limits %d and %d",
				n, len(text), len(passed), len(about.Claims), len(about.Receipt), len(about.RateLimit), len(about.RateLimitPolicy))
		}
	}
}

// TestPrincipalID: access logs and backends of policies learn who called, also of a
// denied request. Callers without a subject have one name.
func TestPrincipalID(t *testing.T) {
	for name, test := range map[string]struct {
		as
		want string
	}{
		"a token":            {as{Claims: map[string]any{"sub": "auth0|ann"}}, "auth0|ann"},
		"a key without one":  {as{APIKey: "acme", Claims: map[string]any{}}, "slidegate"},
		"anonymous":          {as{}, "slidegate"},
		"longer than OpenID": {as{Claims: map[string]any{"sub": strings.Repeat("a", 256)}}, "slidegate"},
	} {
		for _, kind := range []string{"get", "token", "http-1.0", "websocket"} {
			a, _ := kindAuthorizer(t, "rules: [{name: all, key: all, limit: 1/minute}]")
			for i := range 2 {
				a.Callers = test.as
				if got, err := decide(t, a, rawEvent(t, kind)); err != nil || got.PrincipalID != test.want {
					t.Errorf("%s, %s, request %d: principal %q, error %v", name, kind, i, got.PrincipalID, err)
				}
			}
		}
	}
}

// withIdentity returns an event with more fields in requestContext.identity.
func withIdentity(t *testing.T, event, fields string) []byte {
	t.Helper()
	const before = `"identity": {`
	return []byte(strings.Replace(string(rawEvent(t, event)), before, before+fields+",", 1))
}

// verifying returns an authorizer that verifies callers as its rules say.
func verifying(t *testing.T, document string) (*apigw.Authorizer, *fakestore.Store) {
	t.Helper()
	set := parse(t, document)
	a, store := authorizerBy(set)
	a.Callers = authn.New(engine.Fixed{Set: set}, nil, nil, slog.New(slog.DiscardHandler))
	return a, store
}

// TestGatewayKeys: the ids of API Gateway's own keys are those of its events, and
// no value of a key comes near a counter.
func TestGatewayKeys(t *testing.T) {
	for name, test := range map[string]struct{ event, fields, want string }{
		"REST":               {"get", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY", "apiKeyId": "a1b2c3d4e5"`, "key:a1b2c3d4e5"},
		"WebSocket":          {"websocket", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY", "apiKeyId": "a1b2c3d4e5"`, "key:a1b2c3d4e5"},
		"no key is required": {"get", `"apiKey": null, "apiKeyId": null`, "key:-"},
		"a value for an id":  {"get", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY", "apiKeyId": "Vs4bWZ6tJ0aV3R5hQ2xY"`, "key:-"},
		"an HTTP API's":      {"http-1.0", `"apiKeyId": "a1b2c3d4e5"`, "key:-"},
	} {
		a, store := verifying(t, "{authentication: {api_key: {from: api_gateway}}, rules: [{name: r, key: 'key:{apikey}', limit: 9/minute}]}")
		_, err := a.Handle(t.Context(), withIdentity(t, test.event, test.fields))
		if keys := keysOf(store); err != nil || len(keys) != 1 || !strings.HasPrefix(keys[0], "r|"+test.want+"|") {
			t.Errorf("%s: counted by %q, error %v; want %s", name, keys, err, test.want)
		}
	}
}

// TestUsageIdentifierKey: the answer of a REST API names the key by which its
// usage plans count, for allowed requests alone.
func TestUsageIdentifierKey(t *testing.T) {
	const rest = ", rules: [{name: r, key: all, limit: 1/minute}]}"
	for name, test := range map[string]struct{ source, fields, want string }{
		"an id":            {"apikey", `"apiKeyId": "a1b2c3d4e5a1b2c3d4e5"`, "a1b2c3d4e5a1b2c3d4e5"},
		"a missing id":     {"apikey", `"x": ""`, ""},
		"a header":         {"header.x-user", `"x": ""`, "alice"},
		"a missing header": {"header.x-api-key", `"x": ""`, ""},
		"too long":         {"apikey", `"apiKeyId": "` + strings.Repeat("k", 129) + `"`, ""},
	} {
		a, _ := verifying(t, "{authentication: {api_key: {from: api_gateway}, usage_identifier_key: "+test.source+"}"+rest)
		for i, want := range []string{test.want, ""} {
			got, err := decide(t, a, withIdentity(t, "get", test.fields))
			context, _ := json.Marshal(got.Context)
			if err != nil || got.UsageIdentifierKey != want || want != "" && strings.Contains(string(context), want) {
				t.Errorf("%s: answer %d has the key %q and the context %s, error %v; want the key %q", name, i, got.UsageIdentifierKey, context, err, want)
			}
		}
	}
}

// TestUnauthorizedByKind: invalid credentials are charged, and answered as the
// kind of gateway can: by the error that AWS documents as a 401, or by a denial.
func TestUnauthorizedByKind(t *testing.T) {
	for name, test := range map[string]struct {
		event            string
		policies, denial bool
	}{
		"REST":            {event: "get"},
		"TOKEN":           {event: "token"},
		"WebSocket":       {event: "websocket"},
		"AppSync":         {event: "appsync"},
		"HTTP 1.0":        {event: "http-1.0", denial: true},
		"HTTP 2.0":        {event: "http-2.0", denial: true},
		"HTTP 2.0 by IAM": {event: "http-2.0", denial: true, policies: true},
	} {
		a, _ := kindAuthorizer(t, "rules: [{name: guessing, when: {caller: rejected}, key: all, limits: [{capacity: 1, window: 60s}]}]")
		rejected := 0
		a.Policies, a.Rejected = test.policies, func() { rejected++ }
		a.Callers = as{Rejected: true}
		answer, err := a.Handle(t.Context(), rawEvent(t, test.event))
		if errors.Is(err, apigw.ErrUnauthorized) == test.denial || err == nil != test.denial {
			t.Errorf("%s: answer %v, error %v", name, answer, err)
		}
		text, _ := json.Marshal(answer)
		if test.denial && (!strings.Contains(string(text), `"deniedStatus":"401"`) || !strings.Contains(string(text), "#unauthorized") ||
			!strings.Contains(string(text), `"Effect":"Deny"`) && !strings.Contains(string(text), `"isAuthorized":false`)) {
			t.Errorf("%s: answer %s", name, text)
		}
		answer, err = a.Handle(t.Context(), rawEvent(t, test.event))
		text, _ = json.Marshal(answer)
		if err != nil || !strings.Contains(string(text), `"rule":"guessing"`) || strings.Contains(string(text), "deniedStatus") {
			t.Errorf("%s, over the limit: answer %s, error %v", name, text, err)
		}
		if rejected != 1 {
			t.Errorf("%s: %d requests rejected, want the one that no rule denied", name, rejected)
		}
	}
}

// TestPassUnauthorized: a backend that answers denials gets those for invalid
// credentials too, and answers 401 with a challenge (RFC 9110, section 15.5.2).
func TestPassUnauthorized(t *testing.T) {
	for _, event := range []string{"http-1.0", "http-2.0"} {
		a, _ := kindAuthorizer(t, "rules: []")
		a.PassDenials, a.Callers = true, as{Rejected: true}
		got := handle(t, a, event)
		denial, fields, denied := apigw.ContextOf(got.Context).Denial()
		if !got.passes() || !denied || denial.Status != 401 || fields["WWW-Authenticate"] != `Bearer error="invalid_token"` {
			t.Errorf("%s: passes %v, denial %+v with %v", event, got.passes(), denial, fields)
		}
	}
}
