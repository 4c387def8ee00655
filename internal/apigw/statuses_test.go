package apigw_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/decideapi"
	"github.com/slidegate/slidegate/internal/gateway"
)

// front is what answers clients, by the name of its row in the table of statuses.
type front struct {
	row    string
	status func(t *testing.T, a *apigw.Authorizer) int
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
func behindGateway(row, event string) front {
	api, _, _ := strings.Cut(row, " ")
	return front{row, func(t *testing.T, a *apigw.Authorizer) int {
		a.PassDenials = strings.Contains(row, "PassDenials")
		answer, err := a.Handle(t.Context(), rawEvent(t, event))
		switch {
		case errors.Is(err, apigw.ErrUnauthorized) && api == "REST":
			return gatewayResponse("UNAUTHORIZED")
		case errors.Is(err, apigw.ErrUnauthorized) && api != "HTTP":
			return http.StatusUnauthorized
		case err != nil:
			return http.StatusInternalServerError
		}
		text, _ := json.Marshal(answer)
		var got asAnswered
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		denial, _, denied := apigw.ContextOf(got.Context).Denial()
		switch {
		case !got.passes():
			return denials[api]
		case denied:
			return denial.Status
		}
		return http.StatusOK
	}}
}

// server returns a server of this project.
func server(row string, h func(*apigw.Authorizer) http.Handler, path string) front {
	return front{row, func(t *testing.T, a *apigw.Authorizer) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header = http.Header{"X-Forwarded-Method": {"GET"}, "X-Forwarded-Uri": {"/v1/items"}, "X-Forwarded-For": {"203.0.113.9"}}
		w := httptest.NewRecorder()
		h(a).ServeHTTP(w, r)
		return w.Code
	}}
}

// TestStatuses: each front answers each caller as docs/authorizer.md says.
func TestStatuses(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	decide := func(a *apigw.Authorizer) http.Handler { return decideapi.New(a, "", quiet) }
	fronts := []front{
		behindGateway("REST API, `REQUEST` authorizer", "get"),
		behindGateway("REST API, `TOKEN` authorizer", "token"),
		behindGateway("HTTP API, simple responses or IAM policy", "http-2.0"),
		behindGateway("HTTP API with [`PassDenials`](#denials-by-the-backend): its backend", "http-2.0"),
		behindGateway("WebSocket API, `$connect`", "websocket"),
		behindGateway("AppSync", "appsync"),
		server("`slidegate serve`", func(a *apigw.Authorizer) http.Handler {
			return gateway.New(gateway.Options{Authorizer: a, Log: quiet})
		}, "/v1/items"),
		server("a proxy by [forward-auth](http-api.md#ask-from-a-proxy)", decide, "/v1/forward-auth"),
		server("nginx by `/v1/auth-request`, before its configuration", decide, "/v1/auth-request"),
	}
	cases := []struct {
		document string
		caller   as
		column   int
	}{
		{authentication + "required: true}\nrules: []", as{}, 1},
		{authentication + "required: true}\nrules: []", as{Rejected: true}, 2},
		{"deny: [{path: /**}]\nrules: []", as{}, 3},
		{"rules: [{name: all, key: all, limit: 1/minute}]", as{}, 4},
	}
	page, err := os.ReadFile("../../docs/authorizer.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fronts {
		_, rest, found := strings.Cut(string(page), "| "+f.row+" |")
		line, _, _ := strings.Cut(rest, "\n")
		cells := strings.Split(" |"+line, "|")
		if !found || len(cells) != 6 {
			t.Errorf("docs/authorizer.md has no row %q", f.row)
			continue
		}
		for _, c := range cases {
			a, _ := kindAuthorizer(t, c.document)
			a = a.WithAuthenticator(c.caller)
			if c.column == 4 {
				if got := f.status(t, a); got != http.StatusOK {
					t.Errorf("%s: an allowed request is answered %d", f.row, got)
				}
			}
			if got, want := strconv.Itoa(f.status(t, a)), strings.TrimSpace(cells[c.column]); got != want {
				t.Errorf("%s, column %d: answered %s; the page says %s", f.row, c.column, got, want)
			}
		}
	}
}
