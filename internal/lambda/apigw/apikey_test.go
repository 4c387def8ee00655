package apigw_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// withIdentity returns an event with more fields in requestContext.identity.
func withIdentity(t *testing.T, event, fields string) []byte {
	t.Helper()
	text := string(rawEvent(t, event))
	const before = `"identity": {`
	if !strings.Contains(text, before) {
		t.Fatalf("%s has no identity", event)
	}
	return []byte(strings.Replace(text, before, before+fields+",", 1))
}

// verifying returns an authorizer that verifies callers as its rules say.
func verifying(t *testing.T, document string) (*apigw.Authorizer, *fakestore.Store) {
	t.Helper()
	set := parse(t, document)
	a, store := authorizerBy(set)
	return a.WithAuthenticator(authn.New(engine.Fixed{Set: set}, nil, nil, slog.New(slog.DiscardHandler))), store
}

// TestGatewayKeys: the ids of API Gateway's own keys are those of its events, and
// no value of a key comes near a counter.
func TestGatewayKeys(t *testing.T) {
	for name, test := range map[string]struct{ event, fields, want string }{
		"REST":               {"get", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY", "apiKeyId": "a1b2c3d4e5"`, "key:a1b2c3d4e5"},
		"WebSocket":          {"websocket", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY", "apiKeyId": "a1b2c3d4e5"`, "key:a1b2c3d4e5"},
		"no key is required": {"get", `"apiKey": null, "apiKeyId": null`, "key:-"},
		"a value alone":      {"get", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY"`, "key:-"},
		"a value for an id":  {"get", `"apiKey": "Vs4bWZ6tJ0aV3R5hQ2xY", "apiKeyId": "Vs4bWZ6tJ0aV3R5hQ2xY"`, "key:-"},
		"an HTTP API's":      {"http-1.0", `"apiKeyId": "a1b2c3d4e5"`, "key:-"},
	} {
		t.Run(name, func(t *testing.T) {
			a, store := verifying(t, "{authentication: {api_key: {from: api_gateway}}, rules: [{name: r, key: 'key:{apikey}', limit: 9/minute}]}")
			if _, err := a.Handle(t.Context(), withIdentity(t, test.event, test.fields)); err != nil {
				t.Fatal(err)
			}
			if len(keysOf(store)) != 1 || !strings.HasPrefix(keysOf(store)[0], "r|"+test.want+"|") {
				t.Errorf("counted by %q, want %s", keysOf(store), test.want)
			}
		})
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
		t.Run(name, func(t *testing.T) {
			a, _ := verifying(t, "{authentication: {api_key: {from: api_gateway}, usage_identifier_key: "+test.source+"}"+rest)
			for i, want := range []string{test.want, ""} {
				answer, err := a.Handle(t.Context(), withIdentity(t, "get", test.fields))
				if err != nil {
					t.Fatal(err)
				}
				got := answer.(apigw.Response)
				if got.UsageIdentifierKey != want {
					t.Errorf("answer %d has the key %q, want %q", i, got.UsageIdentifierKey, want)
				}
				if context, _ := json.Marshal(got.Context); want != "" && strings.Contains(string(context), want) {
					t.Errorf("the context has the key: %s", context)
				}
			}
		})
	}
}
