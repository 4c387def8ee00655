package top_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/top"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// status is that of a server which has made so many decisions by a time after
// noon, and has answers of the store in two buckets.
func status(started, at time.Duration, decisions, denied, fast, slow int64) *admin.Status {
	return &admin.Status{
		StartedAt: noon.Add(started), At: noon.Add(at),
		Counters:  map[string]int64{metric.Decisions: decisions, metric.Denied: denied},
		Gauges:    map[string]float64{metric.RulesVersion: 7},
		Latency:   admin.Latency{Buckets: []admin.Bucket{{UpTo: 0.002, Count: fast}, {Count: slow}}},
		Rules:     []admin.Rule{{Name: "api", Mode: "enforce", Counters: map[string]int64{metric.Denied: denied}}, {Name: "quiet", Mode: "shadow"}},
		TopDenied: []telemetry.TopKey{{Rule: "api", Key: "ip:x", Count: 3}},
	}
}

// A trace of reads: the first is of the time since the start, later ones of the
// time since the read before, and one after a restart of the time since that.
func TestServer(t *testing.T) {
	var answer *admin.Status
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/status" {
			t.Errorf("asked for %s", r.URL)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	reader := top.NewServer(server.URL + "/")
	for i, step := range []struct {
		status          *admin.Status
		span            float64
		decided, denied float64 // a second
		p99             float64
	}{
		{status(0, 10*time.Second, 100, 20, 98, 2), 10, 10, 2, 0.002}, // the last bucket has no end: its times are at least 2 ms
		{status(0, 12*time.Second, 103, 20, 98, 5), 2, 1.5, 0, 0.002},
		{status(0, 14*time.Second, 103, 20, 98, 5), 2, 0, 0, 0},
		{status(0, 14*time.Second, 103, 20, 98, 5), 14, 7.357143, 1.428571, 0.002}, // the same moment: as the first
		{status(20*time.Second, 24*time.Second, 8, 4, 8, 0), 4, 2, 1, 0.002},
	} {
		answer = step.status
		v, err := reader.Read(t.Context(), noon)
		if err != nil {
			t.Fatal(err)
		}
		want := &top.View{
			Source: server.URL, At: step.status.At, Span: step.span, P99: step.p99, Gauges: step.status.Gauges, TopDenied: step.status.TopDenied,
			Rates: map[string]float64{metric.Decisions: step.decided, metric.Denied: step.denied},
			Rules: []top.Rule{{Name: "api", Mode: "enforce", Rates: map[string]float64{metric.Denied: step.denied}}, {Name: "quiet", Mode: "shadow", Rates: map[string]float64{}}},
		}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Errorf("read %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestServerFails(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"403 Forbidden: no pages here": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no pages here\nsecond line", http.StatusForbidden)
		},
		"is no status of slidegate serve": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"is no status of slidegate":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) },
	} {
		server := httptest.NewServer(answer)
		_, err := top.NewServer(server.URL).Read(t.Context(), noon)
		server.Close()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "second line") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
