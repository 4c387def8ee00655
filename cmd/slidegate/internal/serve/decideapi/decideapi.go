// Package decideapi serves decisions over HTTP, for programs in other languages
// and for proxies: programs POST the calls of package api as JSON, and the endpoints
// for proxies take a request as fields. Both trust what these say of the client, so
// only trusted programs may reach them, or know the token. Web pages may not ask.
package decideapi

import (
	_ "embed" // of openapi.json
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/rules"
)

// Paths of the endpoints. Envoy puts the path of the client's request behind
// extAuthz.
const (
	decisions   = "/v1/" + api.Decisions
	settlements = "/v1/" + api.Settlements
	renewals    = "/v1/" + api.Renewals
	forwardAuth = "/v1/forward-auth"
	authRequest = "/v1/auth-request"
	extAuthz    = "/v1/ext-authz"
	openAPI     = "/openapi.json"
	health      = "/healthz"
)

var endpoints = []string{decisions, settlements, renewals, forwardAuth, authRequest, extAuthz, openAPI, health}

// HeaderSize bounds the header of a request, in bytes. Proxies send their client's
// fields and some of their own, and nginx takes 32 KB from a client.
const HeaderSize = 64 << 10

//go:embed openapi.json
var document []byte

// Server is the handler.
type Server struct {
	api      *api.API
	token    string
	maxDelay time.Duration

	UsagePath string // answers with the usage of callers; empty for none
	// Receipts has the endpoints for proxies answer with receipts, whose backends
	// settle.
	Receipts bool
}

// New returns the handler. Callers must send the token, unless it is empty.
func New(a *api.API, token string) *Server {
	return &Server{api: a, token: token, maxDelay: rules.LongestHold}
}

// ServeHTTP finds the endpoint by the path as it was sent. http.ServeMux would
// redirect a path that it cleans, and the one behind extAuthz is the client's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if target, ok := strings.CutPrefix(r.RequestURI, extAuthz); ok && strings.HasPrefix(target, "/") {
		s.forward(w, r, &forwarded{r.Method, target, r.Host, r.Header.Clone()}, writeDenial)
		return
	}
	if s.UsagePath != "" && r.URL.EscapedPath() == s.UsagePath {
		s.call(w, r, api.Usage)
		return
	}
	switch r.URL.Path {
	case decisions, settlements, renewals:
		s.call(w, r, strings.TrimPrefix(r.URL.Path, "/v1/"))
	case forwardAuth:
		s.forward(w, r, ofFields(r), writeDenial)
	case authRequest:
		s.forward(w, r, ofFields(r), writeForbidden)
	case openAPI:
		s.read(w, r, document)
	case health:
		s.read(w, r, []byte(`{"status":"ok"}`+"\n"))
	default:
		write(w, api.NewProblem(http.StatusNotFound, "the endpoints are %s: see %s", strings.Join(endpoints, ", "), openAPI))
	}
}

// read answers with a JSON document.
func (s *Server) read(w http.ResponseWriter, r *http.Request, json []byte) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		write(w, wrongMethod(w, "GET, HEAD", r.Method))
		return
	}
	writeBody(w, http.StatusOK, "application/json", json)
}

// call answers a program that POSTs the body of a call.
func (s *Server) call(w http.ResponseWriter, r *http.Request, name string) {
	if !s.admits(w, r, false) {
		return
	}
	body, p := readBody(w, r)
	if p != nil {
		write(w, p)
		return
	}
	status, answer := s.api.Answer(r.Context(), name, body)
	writeJSON(w, status, answer)
}

// readBody reads the body of a request with JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *api.Problem) {
	if r.Method != http.MethodPost {
		return nil, wrongMethod(w, http.MethodPost, r.Method)
	}
	sent := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(sent); err != nil || kind != "application/json" {
		return nil, api.NewProblem(http.StatusUnsupportedMediaType, "Content-Type is %.60q: write application/json", sent)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, api.MaxBody+1)) // longer ones are refused by their length
	if err != nil {
		return nil, api.NewProblem(http.StatusBadRequest, "the body breaks off")
	}
	return body, nil
}

func wrongMethod(w http.ResponseWriter, allowed, sent string) *api.Problem {
	w.Header().Set("Allow", allowed)
	return api.NewProblem(http.StatusMethodNotAllowed, "this endpoint takes %s, and the request is %.20q", allowed, sent)
}

func write(w http.ResponseWriter, p *api.Problem) { writeJSON(w, p.Status, p.JSON()) }

// writeJSON answers with problem details, unless the status is 200.
func writeJSON(w http.ResponseWriter, status int, json []byte) {
	kind := "application/json"
	if status != http.StatusOK {
		kind = headers.ProblemType
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeBody(w, status, kind, json)
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have hung up
}

// CheckUsagePath returns why a path cannot answer with the usage of callers.
func CheckUsagePath(path string) error {
	if slices.Contains(endpoints, path) || strings.HasPrefix(path, extAuthz+"/") {
		return fmt.Errorf("%s is an endpoint of decisions: want another path, such as /usage", path)
	}
	return usage.CheckPath(path)
}
