package apigw_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/limithttp"
)

// asAnswered is what all forms of answers have.
type asAnswered struct {
	IsAuthorized bool
	Policy       struct{ Statement []struct{ Effect string } } `json:"policyDocument"`
	Context      map[string]any
	Resolver     map[string]any `json:"resolverContext"`
}

func (a *asAnswered) passes() bool {
	return a.IsAuthorized || len(a.Policy.Statement) > 0 && a.Policy.Statement[0].Effect == "Allow"
}

func handle(t *testing.T, a *apigw.Authorizer, event string) (got asAnswered) {
	t.Helper()
	answer, err := a.Handle(t.Context(), rawEvent(t, event))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(encoded, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Context == nil {
		got.Context = got.Resolver
	}
	return got
}

// TestPassDenials: HTTP APIs alone pass denied requests on, and the context is
// that of the denial.
func TestPassDenials(t *testing.T) {
	for name, test := range kinds {
		a, _ := kindAuthorizer(t, test.rules)
		a.Policies, a.PassDenials = test.policies, true
		if first := handle(t, a, test.event); !first.passes() || first.Context["allowed"] != "true" {
			t.Errorf("%s: %+v", name, first)
		}
		got, want := handle(t, a, test.event), strings.HasPrefix(test.event, "http")
		if got.passes() != want || got.Context["allowed"] != "false" || got.Context["retryAfter"] != "61" {
			t.Errorf("%s: passes %v, want %v: %+v", name, got.passes(), want, got.Context)
		}
	}
}

// TestDenialOf: backends answer by the context of a denial, or by the field that
// is mapped from it, as the library's middleware does.
func TestDenialOf(t *testing.T) {
	const limits = `rules: [{name: all, key: all, limit: 1/minute}]`
	for name, document := range map[string]string{
		"by default":  limits,
		"own answer":  "denied: {status: 503, content_type: text/plain, body: \"{rule} is \\\"full\\\"\"}\n" + limits,
		"the rule's":  "denied: {status: 503, title: Full}\nrules: [{name: all, key: all, limit: 1/minute, denied: {title: Spent, detail: \"{limit} a minute\"}}]",
		"no fields":   "headers: off\n" + limits,
		"both":        "headers: both\n" + limits,
		"a ban":       "deny: [{path: /v1/items/*}]\nrules: []",
		"unmatched":   "unmatched: deny\nrules: []",
		"undisclosed": `rules: [{name: all, key: all, headers: "off", limit: 1/minute}]`,
	} {
		set := parse(t, document)
		a, _ := authorizerBy(set)
		a.PassDenials, a.Receipts = true, receipt.NewIssuer(receipt.Keys{[]byte(secret)}, slog.New(slog.DiscardHandler))
		handle(t, a, "http-2.0")
		about := handle(t, a, "http-2.0").Context
		denial, fields, denied := apigw.ContextOf(about).Denial()
		if !denied {
			t.Fatalf("%s: no denial in %v", name, about)
		}
		want := denialByMiddleware(t, document)
		got := http.Header{}
		for name, value := range fields {
			got.Set(name, value)
		}
		if d := cmp.Diff(want.Header(), got); d != "" || want.Code != denial.Status || want.Body.String() != denial.Body {
			t.Errorf("%s: %d %q, want %d %q (-want +got):\n%s", name, denial.Status, denial.Body, want.Code, want.Body, d)
		}
		mapped := bySettleMiddleware(about["receipt"])
		if d := cmp.Diff(want.Header(), mapped.Header()); d != "" || want.Code != mapped.Code || want.Body.String() != mapped.Body.String() {
			t.Errorf("%s, by the field: %d %q, want %d %q (-want +got):\n%s", name, mapped.Code, mapped.Body, want.Code, want.Body, d)
		}
	}
	for _, about := range []map[string]any{nil, {"allowed": "true"}, {"allowed": false}, {"principalId": "user"}} {
		if _, _, denied := apigw.ContextOf(about).Denial(); denied {
			t.Errorf("%v is a denial", about)
		}
	}
}

// TestPassedOrigin: a program around the middleware may have named an origin, which
// scripts with credentials need. A passed denial keeps it.
func TestPassedOrigin(t *testing.T) {
	const origin = "https://app.example.com"
	a, _ := kindAuthorizer(t, "deny: [{path: /v1/items/*}]\nrules: []")
	a.PassDenials, a.Receipts = true, receipt.NewIssuer(receipt.Keys{[]byte(secret)}, slog.New(slog.DiscardHandler))
	r, w := httptest.NewRequest("GET", "/v1/items/42", nil), httptest.NewRecorder()
	r.Header.Set(receipt.Header, handle(t, a, "http-2.0").Context["receipt"].(string))
	w.Header().Set("Access-Control-Allow-Origin", origin)
	limithttp.SettleMiddleware(slidegate.NewMemory(0), secret)(http.NotFoundHandler()).ServeHTTP(w, r)
	if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != 403 || got != origin || w.Header().Get("Access-Control-Expose-Headers") == "" {
		t.Errorf("status %d, origin %q, want %q: %v", w.Code, got, origin, w.Header())
	}
}

// TestReceipts: an allowed request of every kind has a receipt where its outcome
// can correct the charge.
func TestReceipts(t *testing.T) {
	a, store := kindAuthorizer(t, `rules: [{name: r, key: all, refund_on: 5xx, limit: 20/minute}]`)
	a.Receipts = receipt.NewIssuer(nil, slog.New(slog.DiscardHandler))
	for name, test := range kinds {
		text, _ := handle(t, a, test.event).Context["receipt"].(string)
		r, err := receipt.Parse(text)
		if err != nil || !r.Time.Equal(now) || r.Pending[0].Charge.Key != keysOf(store)[0] {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
	a, _ = kindAuthorizer(t, `rules: [{name: r, key: all, limit: 20/minute}]`)
	a.Receipts = receipt.NewIssuer(nil, slog.New(slog.DiscardHandler))
	if got := handle(t, a, "http-2.0").Context; got["receipt"] != nil {
		t.Errorf("nothing to correct, and a receipt: %v", got)
	}
}

const secret = "0123456789abcdef"

// bySettleMiddleware returns the answer of a server to a request with a receipt.
func bySettleMiddleware(text any) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("GET", "/v1/items/42", nil), httptest.NewRecorder()
	r.Header.Set(receipt.Header, text.(string))
	limithttp.SettleMiddleware(slidegate.NewMemory(0), secret)(http.NotFoundHandler()).ServeHTTP(w, r)
	return w
}

// denialByMiddleware returns the answer of the library to the second of two
// requests.
func denialByMiddleware(t *testing.T, document string) *httptest.ResponseRecorder {
	t.Helper()
	file, err := rulesfile.Parse("rules.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(file, slidegate.WithClock(func() time.Time { return now }), slidegate.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	handler := limithttp.GateMiddleware(g)(http.NotFoundHandler())
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/items/42", nil))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/items/42", nil))
	return w
}
