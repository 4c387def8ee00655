// Package admin serves what an operator asks of a running `slidegate serve`:
// metrics for Prometheus, whether it is alive and ready, its status as JSON, and
// a page for browsers.
// Clients that reach the address see keys, which may be personal data.
//
// The page shows what the limiter does now, why requests were denied, and what it
// would decide about a request. It changes nothing, and charges nothing.
// Server-sent events push parts of it as HTML, each only if it changed. One
// rendering a second serves all browsers that watch; without one, there is none.
package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/request"
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
	// Stopping ends when serve takes no more requests. It ends the events of the
	// page, which would delay the end of serve.
	Stopping context.Context
	// Explain returns what the rules decide about a request now, without charging
	// it, as an *operator.ExplainReport: the template "explained" has its fields.
	Explain  func(context.Context, *request.Request) (any, error)
	Observer *Observer
}

// Server is the handler of the admin address.
type Server struct {
	Options
	mux     http.ServeMux
	started time.Time
	rates   rates

	mu       sync.Mutex
	watchers []*context.CancelFunc // end the events of each browser, the oldest first
	parts    map[string]string     // the latest rendering of the page
	rendered chan struct{}         // is closed by the next one
}

// New returns a server, which counts rates from now on. Run keeps its page up to
// date.
func New(o Options) *Server {
	now := o.Now()
	s := &Server{Options: o, started: now, rendered: make(chan struct{}), rates: rates{until: now.Add(bucketTime), last: o.Snapshot()}}
	s.mux.Handle("GET /metrics", newMetrics(o))
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /healthz": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		},
		"GET /readyz":    s.ready,
		"GET /v1/status": func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.status(s.read())) },

		"GET /{$}":               s.page,
		"GET /live/events":       s.events,
		"HEAD /live/events":      func(http.ResponseWriter, *http.Request) {}, // takes no place
		"GET /live/denials/{id}": s.denial,
		"GET /live/rules":        s.document,
		"POST /live/try":         s.try,
	} {
		s.mux.HandleFunc(pattern, serve)
	}
	return s
}

// ServeHTTP answers programs and, for the page and all below /live/, browsers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, reason := gateway.WebRefusal(r, false)
	if r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/live/") {
		status, reason = gateway.PageRefusal(r)
		for name, value := range pageFields {
			w.Header().Set(name, value)
		}
	}
	if status != 0 {
		http.Error(w, reason, status)
		return
	}
	s.mux.ServeHTTP(w, r)
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

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	counted, _ := s.read()
	answer, status := s.readiness(counted), http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, answer)
}

func (s *Server) readiness(of *telemetry.Snapshot) readiness {
	return readiness{s.Stopping.Err() == nil, degraded(of, s.NotReloaded())}
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client may have hung up
}
