package gateway_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

const usageRules = `
authentication: {jwt: [{issuer: "https://id.example.com", audience: api}]}
client_ip: {trusted_hops: 1}
deny: [{cidrs: [203.0.113.66/32]}]
rules:
  - {name: guessing, when: {caller: rejected}, key: "ip:{ip}", limit: 2/minute}
  - {name: per-ip, when: {caller: [anonymous, known]}, key: "ip:{ip}", limit: 3/minute}
  - {name: per-user, when: {caller: known}, key: "user:{jwt.sub}", limit: 5/minute}
`

// TestUsagePath is one story: each step is a request, a second after the one
// before. Fields are "Name: value".
func TestUsagePath(t *testing.T) {
	at, store, source := now, fakestore.New(nil), engine.Fixed{Set: parse(t, usageRules)}
	clock := func() time.Time { return at }
	decider := &engine.Decider{Engine: app.NewEngine(engine.Options{Rules: source, Store: store}), Now: clock, Callers: callers{}}
	reporter := usage.New(usage.Options{Rules: source, Store: store, Now: clock})
	h := gateway.New(gateway.Options{Decider: decider, Log: quiet, UsagePath: "/usage", Usage: reporter.Of})
	const (
		v1, ann, bad  = "X-Forwarded-For: 192.0.2.1", "Authorization: ann", "Authorization: bad"
		none, one     = `"used":0,"remaining":3,"reset_s":0`, `"used":1,"remaining":2`
		three, policy = `"used":3,"remaining":0`, `rel="related"`
	)
	for i, step := range []struct {
		method, path string
		fields       []string
		status       int
		body, link   string
	}{
		{"GET", "/usage", []string{v1}, 200, `{"rules":[{"rule":"per-ip","key":"ip:{ip}","limits":[{"capacity":3,"window_s":60,` + none + `}]}]}`, ""},
		{"GET", "/usage", []string{v1}, 200, none, ""}, // charged nothing
		{"GET", "/items", []string{v1}, 200, "", ""},
		{"GET", "/usage", []string{v1}, 200, one, ""},
		{"HEAD", "/usage", []string{v1}, 200, "", ""},
		{"GET", "/usage", []string{v1, "Access-Control-Request-Method: GET"}, 200, one, ""}, // no preflight
		{"GET", "/usage?ip=192.0.2.1", []string{"X-Forwarded-For: 192.0.2.2"}, 200, none, ""},
		{"GET", "/usage", []string{"X-Forwarded-For: 192.0.2.1, 192.0.2.2"}, 200, none, ""}, // the client wrote the first
		{"GET", "/usage", []string{v1, ann}, 200, `{"rule":"per-user","key":"user:{jwt.sub}","limits":[{"capacity":5,"window_s":60,"used":0,`, ""},
		{"GET", "/usage", []string{v1, "X-User: ann", "Sub: ann"}, 200, one, ""},
		{"POST", "/usage", []string{v1}, 200, "", ""}, // another method or path: charged, and for the backend
		{"GET", "/us%61ge", []string{v1}, 200, "", ""},
		{"GET", "/items", []string{v1}, 429, "quota-exceeded", policy},
		{"GET", "/usage", []string{v1}, 200, three, ""}, // also once the limit is reached
		{"GET", "/usage", []string{"X-Forwarded-For: 203.0.113.66"}, 403, "", ""},
		{"GET", "/usage", []string{"X-Forwarded-For: 192.0.2.5", bad}, 401, "", ""},
		{"GET", "/usage", []string{"X-Forwarded-For: 192.0.2.5", bad}, 401, "", ""},
		{"GET", "/usage", []string{"X-Forwarded-For: 192.0.2.5", bad}, 429, "quota-exceeded", policy}, // guessing is limited
		{"GET", "/usage", []string{v1, "Authorization: no answer"}, 503, `"status":503`, ""},
	} {
		at = at.Add(time.Second)
		r := httptest.NewRequestWithContext(t.Context(), step.method, step.path, nil)
		for _, f := range step.fields {
			name, value, _ := strings.Cut(f, ": ")
			r.Header.Add(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.body) || !strings.Contains(w.Header().Get("Link"), step.link) {
			t.Errorf("step %d, %s %s %v: %d %v %s", i, step.method, step.path, step.fields, w.Code, w.Header(), w.Body)
		}
		own := strings.HasPrefix(w.Body.String(), `{"rules"`) || step.method == "HEAD" || step.status == 503
		if own != (w.Header().Get("Cache-Control") == "no-store") {
			t.Errorf("step %d: %v", i, w.Header())
		}
	}
	store.Hook = fakestore.Fail(errors.New("away"))
	at = at.Add(time.Second)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/usage", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Header().Get("Content-Type") != "application/problem+json" || strings.Contains(w.Body.String(), "away") {
		t.Errorf("while the store is away: %d %v %s", w.Code, w.Header(), w.Body)
	}
}
