package authn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/authn"
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
