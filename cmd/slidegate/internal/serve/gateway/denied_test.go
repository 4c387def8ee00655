package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/test/fakestore"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limitlambda"
)

// denial is what a door answers to a denied request.
type denial struct {
	status     int
	kind, body string
}

func (d denial) String() string { return strconv.Itoa(d.status) + " " + d.kind + " " + d.body }

// recorded is the answer of a handler to a request for a path.
func recorded(h http.Handler, method, target, body string, fields ...string) (denial, http.Header) {
	r, w := httptest.NewRequest(method, target, strings.NewReader(body)), httptest.NewRecorder()
	r.RemoteAddr = "203.0.113.9:1"
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	h.ServeHTTP(w, r)
	return denial{w.Code, w.Header().Get("Content-Type"), w.Body.String()}, w.Header()
}

// doors ask for a decision on GET /v1/items/42, each in its way.
func doors(t *testing.T, document string) map[string]func() denial {
	const path, secret = "/v1/items/42", "0123456789abcdef"
	newDecider := func() *engine.Decider { return newDecider(t, document, atNow, quiet) }
	newAPI := func() *api.API {
		return &api.API{Calls: []string{api.Decisions}, Decider: newDecider(), Now: atNow, Log: quiet}
	}
	handler := func(h http.Handler, method, target, body string, fields ...string) func() denial {
		return func() denial { got, _ := recorded(h, method, target, body, fields...); return got }
	}
	newGate := func() *gate.Gate {
		file, err := rulesfile.Parse("rules.yaml", document)
		if err != nil {
			t.Fatal(err)
		}
		g, err := gate.New(file, slidegate.WithClock(atNow), slidegate.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	ofDecision := func(text []byte) denial {
		var d struct {
			Status  int
			Body    string
			Headers map[string]string
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		return denial{d.Status, d.Headers["Content-Type"], d.Body}
	}
	const asked = `{"method": "GET", "path": "` + path + `", "ip": "203.0.113.9"}`
	byHTTP, byInvoke := decideapi.New(newAPI(), ""), newAPI()
	nginx := decideapi.New(newAPI(), "")
	contexts := func(event string) func() map[string]any {
		a := apigw.NewAuthorizer(newDecider().Engine, atNow)
		a.PassDenials, a.Receipts = true, receipt.NewIssuer(receipt.Keys{[]byte(secret)}, quiet)
		raw, err := os.ReadFile(filepath.Join("../../../../../internal/lambda/apigw/testdata", event+".event.json"))
		if err != nil {
			t.Fatal(err)
		}
		return func() map[string]any {
			answer, err := a.Handle(t.Context(), raw)
			text, _ := json.Marshal(answer)
			var got struct{ Context map[string]any }
			if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil {
				t.Fatal(err)
			}
			return got.Context
		}
	}
	passed, mapped, deployed := contexts("http-2.0"), contexts("http-2.0"), contexts("get")
	hello := func(_ context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}
	lambda := func(h limitlambda.Handler[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse], authorizer map[string]any) denial {
		ev := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, RouteKey: "$default"}
		ev.RequestContext.HTTP.Method, ev.RequestContext.HTTP.Path, ev.RequestContext.HTTP.SourceIP = "GET", path, "203.0.113.9"
		if authorizer != nil {
			ev.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: authorizer}
		}
		got, err := h(t.Context(), ev)
		if err != nil {
			t.Fatal(err)
		}
		return denial{got.StatusCode, got.Headers["Content-Type"], got.Body}
	}
	wrapped := limitlambda.Wrap(newGate(), hello)
	behind := limitlambda.Behind(slidegate.NewMemory(0), hello)
	return map[string]func() denial{
		"serve":        handler(gateway.New(gateway.Options{Decider: newDecider(), Log: quiet}), "GET", path, ""),
		"middleware":   handler(limithttp.GateMiddleware(newGate())(http.NotFoundHandler()), "GET", path, ""),
		"forward-auth": handler(decideapi.New(newAPI(), ""), "GET", "/v1/forward-auth", "", "X-Forwarded-Method", "GET", "X-Forwarded-Uri", path, "X-Forwarded-For", "203.0.113.9"),
		"ext-authz":    handler(decideapi.New(newAPI(), ""), "GET", "/v1/ext-authz"+path, "", "X-Forwarded-For", "203.0.113.9"),
		"auth-request": func() denial { // whose nginx gives the status and the body
			got, fields := recorded(nginx, "GET", "/v1/auth-request", "", "X-Forwarded-Method", "GET", "X-Forwarded-Uri", path, "X-Forwarded-For", "203.0.113.9")
			status, _ := strconv.Atoi(fields.Get("Slidegate-Status"))
			return denial{cmp.Or(status, got.status), "", fields.Get("Slidegate-Body")}
		},
		"decisions": func() denial {
			got, _ := recorded(byHTTP, "POST", "/v1/decisions", asked, "Content-Type", "application/json")
			return ofDecision([]byte(got.body))
		},
		"Invoke": func() denial {
			var got struct{ Body json.RawMessage }
			if err := json.Unmarshal(byInvoke.Invoke(t.Context(), []byte(`{"decisions": `+asked+`}`)), &got); err != nil {
				t.Fatal(err)
			}
			return ofDecision(got.Body)
		},
		"a Lambda":                func() denial { return lambda(wrapped, nil) },
		"a Lambda, passed":        func() denial { return lambda(behind, passed()) },
		"a server, passed":        func() denial { return bySettling(mapped()["receipt"], secret) },
		"REST API, as a template": func() denial { return byTemplate(deployed()) },
	}
}

// bySettling is the answer of a server to a field that an HTTP API maps.
func bySettling(field any, secret string) denial {
	h := limithttp.SettleMiddleware(slidegate.NewMemory(0), secret)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "") }))
	got, _ := recorded(h, "GET", "/", "", receipt.Header, field.(string))
	return got
}

// byTemplate is the answer that a REST API makes of an authorizer's context.
func byTemplate(about map[string]any) denial {
	if about["allowed"] == "true" {
		return denial{}
	}
	for _, r := range apigw.GatewayResponses() {
		if r.Type == "ACCESS_DENIED" {
			body := r.Body
			for name, value := range about {
				body = strings.ReplaceAll(body, `"$context.authorizer.`+name+`"`, `"`+value.(string)+`"`)
			}
			return denial{r.Status, strings.Trim(r.Headers["Content-Type"], "'"), body}
		}
	}
	return denial{}
}

// TestDeniedByRules: every door answers a denied request as its rule says, field by field
// over the document. A REST API has the type and the title of the problem.
func TestDeniedByRules(t *testing.T) {
	const (
		problem = "application/problem+json"
		quota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
		usual   = "Request cannot be satisfied as assigned quota has been exceeded"
		blocked = `{"type":"https://github.com/slidegate/slidegate/blob/main/docs/problems.md#blocked","title":"Requests from this client are blocked","status":`
	)
	details := func(kind, title string, status int, detail string) string {
		if detail != "" {
			detail = `"detail":"` + detail + `",`
		}
		return `{"type":"` + kind + `","title":"` + title + `","status":` + strconv.Itoa(status) + `,` + detail + `"violated-policies":["month"]}`
	}
	for name, test := range map[string]struct {
		document, rule string
		want           denial
		rest           string // the body of a REST API, whose status is 429
	}{
		"neither": {"", "", denial{429, problem, details(quota, usual, 429, "")}, details(quota, usual, 429, "")},
		"the document's": {"denied: {status: 503, title: Full, detail: 'Come back in {retryAfter} s.'}\n", "",
			denial{503, problem, details(quota, "Full", 503, "Come back in 61 s.")}, details(quota, "Full", 429, "")},
		"the rule's": {"", "{status: 402, type: 'https://example.com/spent', title: Spent, detail: 'Rule {rule} has {limit}: {problemTitle}.'}",
			denial{402, problem, details("https://example.com/spent", "Spent", 402, "Rule month has 1: Spent.")}, details("https://example.com/spent", "Spent", 429, "")},
		"the rule's detail": {"denied: {status: 503, type: /full, title: Full}\n", "{detail: 'Buy more.'}",
			denial{503, problem, details("/full", "Full", 503, "Buy more.")}, details("/full", "Full", 429, "")},
		"the rule's title in the document's body": {"denied: {content_type: text/plain, body: '{problemTitle}: {problemDetail}'}\n", "{title: Spent, detail: '{limit} used'}",
			denial{429, "text/plain", "Spent: 1 used"}, details(quota, "Spent", 429, "")},
		"the rule's body": {"denied: {status: 503, content_type: text/plain, body: full}\n", "{body: 'spent, {retryAfter}'}",
			denial{503, "text/plain", "spent, 61"}, details(quota, usual, 429, "")},
		"a ban": {"deny: [{path: /v1/items/*}]\ndenied: {title: Full, detail: no}\n", "{status: 402, title: Spent}",
			denial{403, problem, blocked + `403,"violated-policies":["deny"]}`}, blocked + `429,"violated-policies":["deny"]}`},
	} {
		document := "ambiguous_paths: clean\n" + test.document + "rules:\n  - {name: month, key: all, limit: 1/minute"
		if test.rule != "" {
			document += ", denied: " + test.rule
		}
		for door, ask := range doors(t, document+"}\n") {
			ask()
			got, want := ask(), test.want
			got.body = strings.TrimSpace(got.body)
			switch door {
			case "auth-request":
				want.kind = ""
			case "REST API, as a template":
				want = denial{429, problem, test.rest}
			}
			if got != want {
				t.Errorf("%s, %s:\n%v\nwant\n%v", name, door, got, want)
			}
		}
	}
}

// TestDeniedByOthers: of several rules, the one that denies answers. What on_error
// denies is no spent month, so it has the answer of the document.
func TestDeniedByOthers(t *testing.T) {
	const document = `
denied: {status: 503, title: Full}
rules:
  - {name: speed, when: {path: /speed}, key: all, limit: 1/minute}
  - {name: month, key: all, limit: 3/1h, denied: {status: 402, title: Spent}}
  - {name: wide, when: {path: /late}, key: all, limit: 100/minute, denied: {title: Wide}}
  - {name: late, when: {path: /late}, key: all, limit: {algorithm: leaky_bucket, capacity: 1, window: 1m, queue: 3}, denied: {title: Later}}
  - {name: down, when: {path: /down}, key: all, limit: 1/minute, on_error: deny, denied: {status: 402, title: Down}}
`
	h := serve(t, document)
	away := gateway.New(gateway.Options{Decider: &engine.Decider{Now: atNow, Engine: app.NewEngine(engine.Options{
		Rules: engine.Fixed{Set: parse(t, document)}, Store: fakestore.New(fakestore.Fail(errors.New("away")))})}, Log: quiet})
	for i, want := range []struct {
		h          http.Handler
		path, body string
		status     int
	}{
		{h, "/speed", "", 502},
		{h, "/speed", `"title":"Full"`, 503},
		{h, "/late", "", 502},
		{h, "/late", `"title":"Later"`, 503},
		{h, "/speed", `"title":"Full"`, 503},
		{h, "/other", `"title":"Spent"`, 402},
		{away, "/down", `"title":"Request cannot be satisfied due to temporary server capacity constraints"`, 503},
	} {
		if got := ask(want.h, want.path); !strings.Contains(got.Body.String(), want.body) || want.status != 502 && got.Code != want.status {
			t.Errorf("request %d of %s: %d %s, want %d %s", i, want.path, got.Code, got.Body, want.status, want.body)
		}
	}
}
