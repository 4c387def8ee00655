package decideapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestUsagePath: a program states a caller, and gets its usage. Nothing but the
// decision in between is charged.
func TestUsagePath(t *testing.T) {
	set, err := rulefile.Parse("rules.yaml", []byte(`
deny: [{cidrs: [203.0.113.66/32]}]
rules:
  - {name: per-ip, key: "ip:{ip}", limit: 3/minute}
  - {name: per-user, when: {caller: known, methods: [GET], path: /v1/**}, key: "user:{jwt.sub}", limits: [5/minute, 100/day]}
`))
	if err != nil {
		t.Fatal(err)
	}
	now, store, source := start, fakestore.New(nil), engine.Fixed{Set: set}
	clock := func() time.Time { return now }
	calls := newCalls(&engine.Decider{Engine: app.NewEngine(engine.Options{Rules: source, Store: store}), Now: clock}, store, clock, quiet)
	h := decideapi.New(calls, "")
	const ann = `{"method": "GET", "path": "/v1/items", "ip": "192.0.2.1", "jwt": {"sub": "ann"}}`
	ask := func(body string) answer {
		now = now.Add(time.Second)
		return send(t, h, "POST", "/usage", body, "Content-Type: application/json")
	}
	if got := ask(ann); got.StatusCode != http.StatusNotFound {
		t.Errorf("without a path: status %d", got.StatusCode)
	}
	h.UsagePath, calls.Usage = "/usage", usage.New(usage.Options{Rules: source, Store: store, Now: clock}).Of
	for _, step := range []struct {
		body   string
		status int
		want   string
	}{
		{ann, 200, `"used":0,"remaining":5`},
		{ann, 200, `"used":0,"remaining":5`},
		{"decide", 200, ""},
		{ann, 200, `"used":1,"remaining":4`},
		{strings.Replace(ann, "ann", "bob", 1), 200, `"used":0,"remaining":5`},
		{`{"method": "GET", "path": "/", "ip": "203.0.113.66"}`, 403, "ask /v1/decisions"},
		{`{"method": "GET", "path": "/", "ip": "192.0.2.1", "rejected": true}`, 403, "ask /v1/decisions"},
		{`{"method": "GET", "path": "/"}`, 400, `"pointer":"/ip"`},
		{`{"method": "GET"`, 400, "no JSON"},
		{"away", 503, "reduced-capacity"},
	} {
		switch step.body {
		case "decide":
			decide(t, h, ann)
			continue
		case "away":
			store.Hook, step.body = fakestore.Fail(errors.New("secret detail")), ann
		}
		got := ask(step.body)
		if got.StatusCode != step.status || !strings.Contains(got.body, step.want) || strings.Contains(got.body, "secret") {
			t.Errorf("%s: status %d, %s", step.body, got.StatusCode, got.body)
		}
		name := "Problem"
		if step.status == 200 {
			name = "Usage"
		}
		wantSchema(t, name, got.body)
	}
	if got := send(t, h, "POST", "/us%61ge", ann, "Content-Type: application/json"); got.StatusCode != http.StatusNotFound {
		t.Errorf("the path as it is not written: status %d", got.StatusCode)
	}
	if got := send(t, h, "GET", "/usage", ""); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "POST" {
		t.Errorf("GET: status %d, Allow %q", got.StatusCode, got.Header.Get("Allow"))
	}
	for path, ok := range map[string]bool{"/usage": true, "/v1/usage": true, "/v1/decisions": false, "/healthz": false, "/v1/ext-authz/usage": false, "usage": false} {
		if err := decideapi.CheckUsagePath(path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}
