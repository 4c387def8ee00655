// Package decideapi serves decisions over HTTP, for programs in other languages
// and for proxies: POST /v1/decisions takes a request as JSON, and the endpoints
// for proxies take it as fields. Both trust what these say of the client, so only
// trusted programs may reach them, or know the token. Web pages may not ask.
package decideapi

import (
	"context"
	_ "embed" // of openapi.json
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// Paths of the endpoints. Envoy puts the path of the client's request behind
// extAuthz.
const (
	decisions   = "/v1/decisions"
	forwardAuth = "/v1/forward-auth"
	authRequest = "/v1/auth-request"
	extAuthz    = "/v1/ext-authz"
	openAPI     = "/openapi.json"
	health      = "/healthz"
)

// HeaderSize bounds the header of a request, in bytes. Proxies send their client's
// fields and some of their own, and nginx takes 32 KB from a client.
const HeaderSize = 64 << 10

//go:embed openapi.json
var document []byte

// Decider decides requests. engine.ErrUnauthorized says that the credentials of
// an allowed request are not valid.
type Decider interface {
	DecideRequest(ctx context.Context, r *request.Request) (*engine.Decision, error)
	// Authenticate adds to a request what its credentials prove.
	Authenticate(ctx context.Context, r *request.Request) error
}

// Server is the handler.
type Server struct {
	decider  Decider
	token    string
	maxDelay time.Duration
	log      *slog.Logger
	warned   sync.Map // names of rules that settle or refund

	// UsagePath answers callers with what Usage reports of them; empty for none.
	UsagePath string
	Usage     func(context.Context, *request.Request) (*usage.Report, error)
}

// New returns the handler. Callers must send the token, unless it is empty. The
// handler throttles repeated lines of the log.
func New(d Decider, token string, log *slog.Logger) *Server {
	return &Server{decider: d, token: token, maxDelay: rules.LongestHold, log: oplog.Throttle(log)}
}

// ServeHTTP finds the endpoint by the path as it was sent. http.ServeMux would
// redirect a path that it cleans, and the one behind extAuthz is the client's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if target, ok := strings.CutPrefix(r.RequestURI, extAuthz); ok && strings.HasPrefix(target, "/") {
		s.forward(w, r, &forwarded{r.Method, target, r.Host, r.Header.Clone()}, writeDenial)
		return
	}
	if s.UsagePath != "" && r.URL.EscapedPath() == s.UsagePath {
		s.reportUsage(w, r)
		return
	}
	switch r.URL.Path {
	case decisions:
		s.decideJSON(w, r)
	case forwardAuth:
		s.forward(w, r, ofFields(r), writeDenial)
	case authRequest:
		s.forward(w, r, ofFields(r), writeForbidden)
	case openAPI:
		s.read(w, r, document)
	case health:
		s.read(w, r, []byte(`{"status":"ok"}`+"\n"))
	default:
		newProblem(http.StatusNotFound, "the endpoints are %s, %s, %s, %s and %s: see %s",
			decisions, forwardAuth, authRequest, extAuthz+"/PATH", health, openAPI).write(w)
	}
}

// read answers with a JSON document.
func (s *Server) read(w http.ResponseWriter, r *http.Request, json []byte) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		wrongMethod(w, "GET, HEAD", r.Method).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(json) // the client may have hung up
}

// warnUnsettled logs, once for each rule, that no outcome corrects its charges.
func (s *Server) warnUnsettled(ctx context.Context, d *engine.Decision) {
	for _, p := range d.Pending() {
		if _, again := s.warned.LoadOrStore(p.Rule, true); !again {
			s.log.WarnContext(ctx, "this server does not see the answers to requests: refund_on and settle have no effect", "rule", p.Rule)
		}
	}
}

// decide returns what the client of a request learns. unauthorized says that its
// credentials are not valid, and that no rule denies it for that.
func (s *Server) decide(ctx context.Context, r *request.Request) (a headers.Answer, reason string, p *problem) {
	d, err := s.decider.DecideRequest(ctx, r)
	switch {
	case errors.Is(err, engine.ErrUnauthorized):
		return headers.Answer{Problem: headers.Unauthorized}, unauthorized, nil
	case err == nil:
		s.warnUnsettled(ctx, d)
		return headers.Describe(d), d.Reason.String(), nil
	}
	if unmet, ok := errors.AsType[*rules.UnmetError](err); ok {
		return a, "", badRequest("/ip", unmet.Error())
	}
	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "no decision", "error", err)
	}
	return a, "", noDecision()
}

// unauthorized is the reason of a decision about credentials that are not valid.
const unauthorized = "unauthorized"
