package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/test/golden"
)

const document = `
rules:
- {name: api, key: 'ip:{ip}', limit: 100/minute}
- {name: next, mode: shadow, key: 'ip:{ip}', limit: 50/minute}
- {name: now-off, mode: off, key: all, limit: 1/minute}
- {name: unused, mode: off, key: all, limit: 1/minute}
`

// counted is a snapshot with a value of each kind.
func counted() *telemetry.Snapshot {
	s := &telemetry.Snapshot{
		Counters: map[string]int64{},
		Gauges:   map[string]float64{metric.RulesVersion: 7, metric.RulesAge: 2.5, metric.BreakerOpen: 0, metric.RulesBreakerOpen: 0, metric.LocalKeys: 3},
		Rules: map[string]map[string]int64{
			"api": {metric.Denied: 30, metric.NearLimit: 4}, "next": {metric.ShadowDenied: 9}, "api candidate": {metric.ShadowDenied: 2},
			"before": {metric.Denied: 1}, "now-off": {metric.Denied: 2},
		},
		TopDenied: []telemetry.TopKey{{Rule: "api", Key: "ip:203.0.113.9", Count: 25, Error: 1}},
		TopNear:   []telemetry.TopKey{{Rule: "api", Key: "ip:203.0.113.7", Count: 4, Share: 0.93}},
	}
	for i, m := range metric.All {
		if m.Kind == metric.Counter {
			s.Counters[m.Name] = int64(1000 + i)
		}
	}
	s.Counters[metric.Denied], s.DeniedByNone = 35, 2
	s.Latency.Counts[0], s.Latency.Counts[17], s.Latency.Counts[len(s.Latency.Counts)-1] = 5, 2, 1
	s.Latency.Sum = 15 * time.Second
	return s
}

// newServer returns a server of a snapshot, whose clock stands still.
func newServer(t *testing.T, s *telemetry.Snapshot, stopping context.Context, notReloaded ...error) http.Handler {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	set.Version = 8 // published after the latest decision
	return admin.New(admin.Options{
		NotReloaded: func() error { return errors.Join(notReloaded...) },
		Snapshot:    func() *telemetry.Snapshot { return s }, Rules: func() (*rules.Set, error) { return set, nil },
		Now:     func() time.Time { return time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC) },
		Version: "v1.2.3", Store: "memory", RulesFrom: "rules.yaml", Stopping: stopping,
		Observer: admin.NewObserver(engine.NoObserver{}),
	})
}

// ask sends a request to a server that listens on 127.0.0.1:9090.
func ask(h http.Handler, method, path, host string, fields ...string) *httptest.ResponseRecorder {
	local := net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9090})
	r := httptest.NewRequestWithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, local), method, path, nil)
	r.Host = host
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestMetrics: Prometheus gets every metric of serve under its name, also those
// of rules that have counted nothing.
func TestMetrics(t *testing.T) {
	answer := ask(newServer(t, counted(), t.Context()), "GET", "/metrics", "localhost:9090")
	var own strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if strings.Contains(line, "slidegate_") {
			own.WriteString(line)
		}
	}
	golden.Check(t, "testdata/metrics.txt", own.String())
	for _, m := range metric.All {
		if want := m.Exporters&metric.Serve != 0; strings.Contains(own.String(), "# HELP "+m.Prometheus+" "+m.Help) != want {
			t.Errorf("%s: want it reported: %t", m.Name, want)
		}
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "go_build_info"} {
		if !strings.Contains(answer.Body.String(), name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestStatus: the status has the counters, the rules in their order, and the top
// keys.
func TestStatus(t *testing.T) {
	answer := ask(newServer(t, counted(), t.Context()), "GET", "/v1/status", "127.0.0.1:9090")
	var text bytes.Buffer
	if err := json.Indent(&text, answer.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/status.json", text.String())
}

// TestReadiness: a server is ready until it stops. What makes decisions inexact
// does not make it unready: on_error decides.
func TestReadiness(t *testing.T) {
	open, blind, old := counted(), counted(), counted()
	open.Gauges[metric.BreakerOpen], blind.Gauges[metric.RulesBreakerOpen] = 1, 1
	old.Gauges[metric.RulesAge] = 61
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, test := range []struct {
		name     string
		snapshot *telemetry.Snapshot
		stopping context.Context
		status   int
		body     string
	}{
		{"healthy", counted(), t.Context(), 200, `{"ready":true}`},
		{"no store", open, t.Context(), 200, `{"ready":true,"degraded":["the store of the counters does not answer: on_error decides"]}`},
		{"no lookups", blind, t.Context(), 200, `{"ready":true,"degraded":["the rules table does not answer: the rules, overrides and API keys of its last answers stay in force"]}`},
		{"no rules table", old, t.Context(), 200, `{"ready":true,"degraded":["the rules table was last read 61 seconds ago: its rules of then stay in force"]}`},
		{"stopping", counted(), stopped, 503, `{"ready":false}`},
	} {
		h := newServer(t, test.snapshot, test.stopping)
		if got := ask(h, "GET", "/readyz", "localhost"); got.Code != test.status || strings.TrimSpace(got.Body.String()) != test.body {
			t.Errorf("%s: %d %s", test.name, got.Code, got.Body)
		}
		if got := ask(h, "HEAD", "/healthz", "localhost"); got.Code != 200 {
			t.Errorf("%s: /healthz answers %d", test.name, got.Code)
		}
	}
}

// TestRefusedFile: rules in a file that is refused age as those in a table, and only
// the reason is said.
func TestRefusedFile(t *testing.T) {
	old := counted()
	old.Gauges[metric.RulesAge] = 61
	got := ask(newServer(t, old, t.Context(), errors.New("bad")), "GET", "/readyz", "localhost").Body.String()
	if want := `{"ready":true,"degraded":["the rules file has changed, and the rules in force stay: bad"]}`; strings.TrimSpace(got) != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

// TestRefusals: pages of other sites get nothing, and there is nothing to change.
func TestRefusals(t *testing.T) {
	h := newServer(t, counted(), t.Context())
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/v1/status", "/", "/live/rules"} {
		if got := ask(h, "GET", path, "evil.example:9090"); got.Code != 421 {
			t.Errorf("%s by a name of a web page: %d", path, got.Code)
		}
		if got := ask(h, "GET", path, "127.0.0.1:9090", "Sec-Fetch-Site: cross-site"); got.Code != 403 {
			t.Errorf("%s by a browser: %d", path, got.Code)
		}
		isPage := path == "/" || strings.HasPrefix(path, "/live/")
		if got := ask(h, "POST", path, "127.0.0.1:9090"); !isPage && got.Code != 405 {
			t.Errorf("POST %s: %d", path, got.Code)
		}
		for _, site := range []string{"none", "same-origin"} { // a typed address, or the page's own request
			if got := ask(h, "GET", path, "127.0.0.1:9090", "Sec-Fetch-Site: "+site); got.Code != map[bool]int{true: 200, false: 403}[isPage] {
				t.Errorf("%s by a browser, %s: %d", path, site, got.Code)
			}
		}
	}
}
