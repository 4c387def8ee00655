package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/golang-jwt/jwt/v5"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// publish makes tables for counters and for rules, publishes a document, and has
// Lambdas use both.
func publish(t *testing.T, document string) (client *dynamo.Client, counters, rules string) {
	t.Helper()
	client = dynamotest.Connect(t)
	counters, rules = dynamotest.Counters(t, client), dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ruletable.New(client, rules).Publish(t.Context(), ruletable.Version{Text: []byte(document), Document: set.Document()}, 0); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLIDEGATE_COUNTERS", counters)
	t.Setenv("SLIDEGATE_RULES", rules)
	t.Setenv("SLIDEGATE_DEADLINE", "5s")
	return client, counters, rules
}

// event is a request of an API.
func event(path string) events.APIGatewayCustomAuthorizerRequestTypeRequest {
	ev := events.APIGatewayCustomAuthorizerRequestTypeRequest{Type: "REQUEST", MethodArn: "arn:aws:execute-api:eu-west-1:1:api/prod/GET" + path, HTTPMethod: "GET", Path: path}
	ev.RequestContext.Identity.SourceIP = "203.0.113.9"
	return ev
}

// decide sends an event to the Lambda.
func decide(t *testing.T, a handler, ev any) (answer apigw.Response, err error) {
	t.Helper()
	raw, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Handle(t.Context(), raw)
	answer, _ = got.(apigw.Response)
	if answer.Context == nil {
		answer.Context = &apigw.Context{}
	}
	return answer, err
}

// TestNothingPublished: without any published rules the Lambda allows requests,
// marks the decisions as degraded, and logs one line. SLIDEGATE_METRICS=off logs none.
func TestNothingPublished(t *testing.T) {
	client := dynamotest.Connect(t)
	t.Setenv("SLIDEGATE_COUNTERS", dynamotest.Counters(t, client))
	t.Setenv("SLIDEGATE_RULES", dynamotest.Create(t, client, ruletable.Description(dynamotest.Name())))
	t.Setenv("SLIDEGATE_METRICS", "off")
	var log strings.Builder
	a, err := build(context.Background(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || a.Metrics != nil {
		t.Fatalf("metrics %v, error %v", a.Metrics, err)
	}
	for range 3 {
		answer, err := decide(t, a, event("/a"))
		if c := answer.Context; err != nil || c.Allowed != "true" || c.Degraded != "true" {
			t.Errorf("answer %v, error %v", c, err)
		}
	}
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "no rules are published") {
		t.Errorf("logged %q, want one line", line)
	}
}

// TestRulesCopy: if the table cannot be read, the Lambda starts with the copy
// of the rules in the zip.
func TestRulesCopy(t *testing.T) {
	dynamotest.Connect(t)
	t.Setenv("SLIDEGATE_COUNTERS", "no-such-table")
	t.Setenv("SLIDEGATE_RULES", "no-such-table")
	const banned = `{"deny": [{"path": "/banned"}], "rules": []}`
	for name, test := range map[string]struct {
		document string // empty for no copy
		works    bool
		logged   string
	}{
		"a copy":           {banned, true, "starting with the copy"},
		"no copy":          {"", false, "does not exist"},
		"an unknown field": {`{"rules": [], "of a newer Slidegate": 1}`, false, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			t.Setenv("LAMBDA_TASK_ROOT", root)
			if test.document != "" {
				if err := os.WriteFile(filepath.Join(root, "rules.json"), []byte(test.document), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log strings.Builder
			a, err := build(context.Background(), slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := decide(t, a, event("/banned"))
			if works := err == nil && answer.Context.Rule == "deny"; works != test.works || !strings.Contains(log.String(), test.logged) {
				t.Errorf("answer %v, error %v, logged %q", answer.Context, err, log.String())
			}
		})
	}
}

// TestBuildRefuses names the variable that is wrong or missing, and keeps its value
// out of the log if that is a secret.
func TestBuildRefuses(t *testing.T) {
	for name, wrong := range map[string]string{
		"SLIDEGATE_DEADLINE": "soon", "SLIDEGATE_SIMPLE_RESPONSES": "no", "SLIDEGATE_PASS_DENIALS": "yes", "SLIDEGATE_RECEIPT_SECRET": "tooshort",
		"SLIDEGATE_METRICS": "yes", "SLIDEGATE_COUNTERS": "", "SLIDEGATE_RULES": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SLIDEGATE_COUNTERS", "counters")
			t.Setenv("SLIDEGATE_RULES", "rules")
			t.Setenv(name, wrong)
			if _, err := build(t.Context(), quiet); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "tooshort") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestTokens: the Lambda has the issuer's keys before its first request. A known
// caller has the limit of its plan, and an invalid token is charged before 401.
func TestTokens(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var fetches atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	}))
	defer issuer.Close()
	publish(t, fmt.Sprintf(`
authentication: {jwt: [{issuer: %q, audience: api, jwks: %q}]}
plan: {from: jwt.plan}
plans: {pro: {users: 3}}
rules:
  - {name: users, when: {caller: known}, key: "user:{jwt.sub}", limit: 1/hour}
  - {name: guessing, when: {caller: rejected}, key: "ip:{ip}", limit: 2/hour}
`, issuer.URL, issuer.URL+"/keys"))
	a, err := build(t.Context(), quiet)
	if err != nil || fetches.Load() != 1 {
		t.Fatalf("%d fetches at the start, error %v", fetches.Load(), err)
	}
	token := func(plan string, end time.Duration) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": issuer.URL, "aud": "api", "sub": "of " + plan, "plan": plan, "exp": time.Now().Add(end).Unix()})
		token.Header["kid"] = "k"
		text, err := token.SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, test := range map[string]struct {
		token   string
		allowed int
		err     error
	}{
		"pro":     {token("pro", time.Hour), 3, nil},
		"free":    {token("free", time.Hour), 1, nil},
		"expired": {token("pro", -time.Hour), 2, apigw.ErrUnauthorized},
	} {
		ev := event("/x")
		ev.Headers = map[string]string{"authorization": "Bearer " + test.token}
		for i := range 5 {
			answer, err := decide(t, a, ev)
			want, allowed := test.err, "true"
			if i >= test.allowed {
				want, allowed = nil, "false"
			}
			if !errors.Is(err, want) || err == nil && (answer.Context.Allowed != allowed || answer.Context.Degraded != "false") {
				t.Errorf("%s, request %d: %v, error %v; want allowed %s, error %v", name, i, answer.Context, err, allowed, want)
			}
		}
	}
	if n := fetches.Load(); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}
