package authn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/request"
)

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
