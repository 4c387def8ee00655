package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/request"
)

// caller stands for what the authenticator found out about one.
type caller request.Request

func (c caller) Authenticate(_ context.Context, _ time.Time, r *request.Request) error {
	r.Rejected = c.Rejected
	return nil
}

// door is what answers clients, by the name of its row in the table of statuses.
type door struct {
	row    string
	status func(t *testing.T, a *apigw.Authorizer, path string) int
}

// denials are the statuses by which gateways answer a denial. AWS documents them,
// except for REST APIs, whose own answers are deployed.
var denials = map[string]int{"REST": gatewayResponse("ACCESS_DENIED"), "HTTP": 403, "WebSocket": 403, "AppSync": 401}

func gatewayResponse(kind string) int {
	for _, r := range apigw.GatewayResponses() {
		if r.Type == kind {
			return r.Status
		}
	}
	return 0
}

// behindGateway returns an API with a Lambda authorizer.
func behindGateway(row, event string) door {
	api, _, _ := strings.Cut(row, " ")
	return door{row, func(t *testing.T, a *apigw.Authorizer, path string) int {
		a.PassDenials = strings.Contains(row, "PassDenials")
		raw, err := os.ReadFile(filepath.Join("../../../../../internal/lambda/apigw/testdata", event+".event.json"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "//") {
			raw = bytes.ReplaceAll(raw, []byte("/v1/items/"), []byte("/v1/items//"))
			raw = bytes.ReplaceAll(raw, []byte(`"queryString": "`), []byte(`"queryString": "{`))
		}
		answer, err := a.Handle(t.Context(), raw)
		switch {
		case errors.Is(err, apigw.ErrUnauthorized) && api == "REST":
			return gatewayResponse("UNAUTHORIZED")
		case errors.Is(err, apigw.ErrUnauthorized) && api != "HTTP":
			return http.StatusUnauthorized
		case err != nil:
			return http.StatusInternalServerError
		}
		text, _ := json.Marshal(answer)
		var got struct {
			IsAuthorized bool
			Policy       struct{ Statement []struct{ Effect string } } `json:"policyDocument"`
			Context      map[string]any
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		denial, _, denied := apigw.ContextOf(got.Context).Denial()
		switch {
		case !got.IsAuthorized && (len(got.Policy.Statement) == 0 || got.Policy.Statement[0].Effect != "Allow"):
			return denials[api]
		case denied:
			return denial.Status
		}
		return http.StatusOK
	}}
}

// server returns a server of this project.
func server(row string, h func(*engine.Decider) http.Handler, endpoint string) door {
	return door{row, func(t *testing.T, a *apigw.Authorizer, path string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, cmp.Or(endpoint, path), nil)
		r.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Uri": {path}, "X-Forwarded-For": {"203.0.113.9"}}
		w := httptest.NewRecorder()
		h(&a.Decider).ServeHTTP(w, r)
		return w.Code
	}}
}

// TestStatuses: each front answers each caller as docs/authorizer.md says.
func TestStatuses(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	decide := func(d *engine.Decider) http.Handler {
		return decideapi.New(&api.API{Decider: d, Now: time.Now, Log: quiet}, "")
	}
	fronts := []door{
		behindGateway("REST API, `REQUEST` authorizer", "get"),
		behindGateway("REST API, `TOKEN` authorizer", "token"),
		behindGateway("HTTP API, simple responses or IAM policy", "http-2.0"),
		behindGateway("HTTP API with [`PassDenials`](#denials-by-the-backend): its backend", "http-2.0"),
		behindGateway("WebSocket API, `$connect`", "websocket"),
		behindGateway("AppSync", "appsync"),
		server("`slidegate serve`", func(d *engine.Decider) http.Handler {
			return gateway.New(gateway.Options{Decider: d, Log: quiet})
		}, ""),
		server("a proxy by [forward-auth](http-api.md#ask-from-a-proxy)", decide, "/v1/forward-auth"),
		server("nginx by `/v1/auth-request`, before its configuration", decide, "/v1/auth-request"),
	}
	const required = "authentication: {jwt: [{issuer: 'https://a.example', audience: x}], required: true}"
	cases := []struct {
		document string
		caller   caller
		column   int
	}{
		{required + "\nrules: []", caller{}, 1},
		{required + "\nrules: []", caller{Rejected: true}, 2},
		{"deny: [{path: /**}]\nrules: []", caller{}, 3},
		{"rules: [{name: all, key: all, limit: 1/minute}]", caller{}, 4},
		{"deny: [{path: /banned}, {match: {graphql.type: mutation}}]\nrules: []", caller{}, 5},
	}
	page, err := os.ReadFile("../../../../../docs/authorizer.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fronts {
		_, rest, found := strings.Cut(string(page), "| "+f.row+" |")
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(" |"+line, "|")
		if !found || len(cells) != 7 {
			t.Errorf("docs/authorizer.md has no row %q", f.row)
			continue
		}
		for _, c := range cases {
			a := apigw.NewAuthorizer(newDecider(t, c.document, time.Now, quiet).Engine, time.Now)
			a.Callers = c.caller
			path := "/v1/items/42"
			if c.column == 5 {
				path = "/v1/items//42"
			}
			if c.column == 4 {
				if got := f.status(t, a, path); got != http.StatusOK {
					t.Errorf("%s: an allowed request is answered %d", f.row, got)
				}
			}
			if got, want := strconv.Itoa(f.status(t, a, path)), strings.Replace(strings.TrimSpace(cells[c.column]), "none", "200", 1); got != want {
				t.Errorf("%s, column %d: answered %s; the page says %s", f.row, c.column, got, want)
			}
		}
		// A rule must not count all clients together where no request has what it counts by.
		a := apigw.NewAuthorizer(newDecider(t, "rules: [{name: r, key: '{graphql.name}', limit: 9/minute}]", time.Now, quiet).Engine, time.Now)
		if got := f.status(t, a, "/v1/items/42"); (got >= 500) == (f.row == "AppSync") {
			t.Errorf("%s: a rule that counts by GraphQL operations is answered %d", f.row, got)
		}
	}
}
