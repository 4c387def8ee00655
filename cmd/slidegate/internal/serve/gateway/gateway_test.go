package gateway_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const document = `
ambiguous_paths: clean
deny: [{path: /banned}]
rules: [{name: per-user, key: "user:{header.x-user}", limits: [{capacity: 2, window: 10s}]}]
`

// now is half a second into a slot.
var now = time.Unix(1_700_000_040, 500_000_000)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func atNow() time.Time { return now }

// newDecider decides by a rules file, with a store in memory.
func newDecider(t testing.TB, document string, clock func() time.Time, log *slog.Logger) *engine.Decider {
	t.Helper()
	return deciderOf(engine.Fixed{Set: parse(t, document)}, clock, log)
}

func deciderOf(source engine.RuleSource, clock func() time.Time, log *slog.Logger) *engine.Decider {
	return &engine.Decider{Engine: app.NewEngine(engine.Options{Rules: source, Store: memory.New(0), Observer: oplog.NewObserver(log)}), Now: clock}
}

// parse compiles a rules file.
func parse(t testing.TB, document string) *rules.Set {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err == nil {
		err = set.LoadSecrets(os.LookupEnv)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// start runs a gateway on a free port, and returns its address.
func start(t *testing.T, backend *url.URL) string {
	t.Helper()
	server := httptest.NewServer(gateway.New(gateway.Options{Decider: newDecider(t, document, atNow, quiet), Backend: backend, Log: quiet}))
	t.Cleanup(server.Close)
	return server.URL
}

// get sends a request with a field, if one is given.
func get(t *testing.T, method, address string, field ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-User", "alice")
	if len(field) == 2 {
		req.Header.Set(field[0], field[1])
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func expectFields(t *testing.T, got http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.Get(name), value)
		}
	}
}

// TestDenialForBrowsers: a browser gets a page, and a program problem details.
func TestDenialForBrowsers(t *testing.T) {
	base := start(t, nil)
	for i, want := range []string{"", "", "<p>Please come back in "} {
		response, body := get(t, "GET", base+"/v1/items/7", "Accept", "text/html,*/*;q=0.8")
		if page := response.Header.Get("Content-Type") == headers.PageType; page != (i == 2) || !strings.Contains(body, want) {
			t.Errorf("request %d: %d %s", i, response.StatusCode, body)
		}
	}
	if response, body := get(t, "GET", start(t, nil)+"/v1/items/7?page=2"); body != `{"method":"GET","path":"/v1/items/7"}`+"\n" || response.Header.Get("RateLimit") == "" {
		t.Errorf("the echo is %s, %v", body, response.Header)
	}
	if response, body := get(t, "GET", base+"/v1/items/7"); !strings.Contains(body, "quota-exceeded") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

func TestProxy(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("RateLimit", `"forged";r=9;t=9`)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String())
	}))
	defer backend.Close()
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	response, body := get(t, "POST", start(t, target)+"/a%2Fb?c=d")
	if response.StatusCode != http.StatusTeapot || body != "POST /a%2Fb?c=d" {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
	expectFields(t, response.Header, map[string]string{"RateLimit": `"per-user";r=1;t=11`})
	if n := len(response.Header.Values("RateLimit")); n != 1 {
		t.Errorf("%d RateLimit fields", n)
	}
	backend.Close()
	if response, _ := get(t, "GET", start(t, target)+"/"); response.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d without a backend, want 502", response.StatusCode)
	}
}

type noRules struct{}

func (noRules) Rules(context.Context, time.Time) (*rules.Set, error) {
	return nil, errors.New("no rules")
}

func TestNoDecision(t *testing.T) {
	server := httptest.NewServer(gateway.New(gateway.Options{Decider: deciderOf(noRules{}, atNow, quiet), Log: quiet}))
	defer server.Close()
	response, body := get(t, "GET", server.URL)
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" || response.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("status %d, fields %v, body %s", response.StatusCode, response.Header, body)
	}
}
