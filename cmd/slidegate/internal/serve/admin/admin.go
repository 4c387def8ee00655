// Package admin serves what an operator asks of a running `slidegate serve`:
// metrics for Prometheus, whether it is alive and ready, its status as JSON, and
// a page for browsers.
// Clients that reach the address see keys, which may be personal data.
package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/webguard"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/rules"
)

// Options say what a server reports. All of them are required.
type Options struct {
	Snapshot func() *telemetry.Snapshot
	Rules    func() (*rules.Set, error) // in force; looks for newer ones
	// NotReloaded says why a newer rules file is not in force; nil for none.
	NotReloaded func() error
	Now         func() time.Time // of the machine
	Version     string           // of slidegate
	// Store and RulesFrom say where counters and rules are, without a password.
	Store, RulesFrom string
	Stopping         context.Context // ends when serve takes no more requests
	// Page is for browsers: / and all below /live/.
	Page http.Handler
}

type server struct {
	Options
	started time.Time
}

// New returns the handler.
func New(o Options) http.Handler {
	s := &server{o, o.Now()}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", newMetrics(o))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, s.status(o.read()))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var next http.Handler = mux
		status, reason := webguard.Refusal(r, false)
		if r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/live/") {
			next = o.Page
			status, reason = webguard.PageRefusal(r)
		}
		if status != 0 {
			http.Error(w, reason, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready bool `json:"ready"`
	// Degraded says in words why decisions are not exact. The server stays ready:
	// on_error still decides, whereas a load balancer that has no ready server
	// fails every request. A store is mostly out of reach for all servers at once.
	Degraded []string `json:"degraded,omitempty"`
}

// read returns what was counted, and the rules in force: none if they cannot be
// read. It looks for newer rules first, so that the gauges are of now.
func (o *Options) read() (*telemetry.Snapshot, []*rules.Rule) {
	set, err := o.Rules()
	s := o.Snapshot()
	if err != nil {
		return s, nil
	}
	s.Gauges[metric.RulesVersion] = float64(set.Version)
	return s, set.Rules
}

func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	counted, _ := s.read()
	answer, status := s.readiness(counted), http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	write(w, status, answer)
}

func (s *server) readiness(of *telemetry.Snapshot) readiness {
	return readiness{s.Stopping.Err() == nil, Degraded(of, s.NotReloaded())}
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client may have hung up
}
