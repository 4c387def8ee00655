// Package gateway is a local stand-in for API Gateway: it turns HTTP into the events of a REST API's authorizer, runs the
// same handler that the Lambda runs, applies the same gateway responses that the construct deploys, and passes what is
// allowed on to a backend or echoes it.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
)

// DefaultMaxDelay bounds a delay where Options do not. It is what rule documents are warned by.
const DefaultMaxDelay = rules.LongestHold

const (
	// drainTime is how long requests under way may take when the gateway stops: one that is held still gets its answer.
	drainTime = DefaultMaxDelay + 5*time.Second
	// headerTime and headerSize bound what a client may send before it is judged; 10 KB is what API Gateway takes.
	headerTime = 10 * time.Second
	headerSize = 10 << 10
)

// Options set up a gateway.
type Options struct {
	Authorizer *apigw.Authorizer
	Backend    *url.URL // where to proxy what is allowed; nil echoes it
	Stage      string   // the stage that events name; empty for "local"
	// MaxDelay bounds how long an allowed request is held for its turn in a leaky bucket; 0 stands for DefaultMaxDelay. One
	// whose turn comes later is answered as a denial: passed on early it would be part of a burst. What it took stays taken.
	MaxDelay time.Duration
	Log      *slog.Logger
}

type gateway struct {
	authorizer *apigw.Authorizer
	backend    http.Handler
	stage      string
	maxDelay   time.Duration
	responses  map[string]apigw.GatewayResponse
	log        *slog.Logger
	complained atomic.Int64 // Unix seconds
}

// New returns the gateway as a handler.
func New(o Options) http.Handler {
	g := &gateway{authorizer: o.Authorizer, backend: http.HandlerFunc(echo), stage: o.Stage, maxDelay: o.MaxDelay, log: o.Log}
	if o.Backend != nil {
		g.backend = proxy(o.Backend, o.Log)
	}
	if g.stage == "" {
		g.stage = "local"
	}
	if g.maxDelay == 0 {
		g.maxDelay = DefaultMaxDelay
	}
	g.responses = map[string]apigw.GatewayResponse{}
	for _, r := range apigw.GatewayResponses() {
		g.responses[r.Type] = r
	}
	return g
}

// ServeHTTP asks the authorizer, unless the request is a preflight: no authorizer is ever attached to OPTIONS.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		g.backend.ServeHTTP(w, r)
		return
	}
	answer, d, err := g.authorizer.Decide(r.Context(), event(r, g.stage))
	if err != nil && r.Context().Err() != nil {
		return // nobody is there to be answered
	}
	if err != nil {
		g.log.ErrorContext(r.Context(), "authorizer failed", "error", err)
		respond(w, g.responses["DEFAULT_5XX"], http.StatusInternalServerError, nil)
		return
	}
	if !allows(&answer) {
		respond(w, g.responses["ACCESS_DENIED"], http.StatusForbidden, answer.Context)
		return
	}
	delay := apigw.Delay(answer.Context)
	if delay > g.maxDelay {
		respond(w, g.responses["ACCESS_DENIED"], http.StatusForbidden, apigw.TooLong(answer.Context, delay))
		return
	}
	if hold(r.Context(), delay) {
		g.pass(w, r.WithContext(withDecision(r.Context(), answer.Context)), d)
	}
}

// pass has the backend answer, and corrects what the request was charged by what became of it. An answer that breaks off
// panics (http.ErrAbortHandler), and is an outcome too.
func (g *gateway) pass(w http.ResponseWriter, r *http.Request, d *engine.Decision) {
	seen, whole := &witness{ResponseWriter: w}, false
	defer func() {
		outcome, ignored := seen.outcome()
		outcome.Cut = !whole || r.Context().Err() != nil
		if len(ignored) > 0 {
			g.complain(r.Context(), ignored)
		}
		g.authorizer.Finish(r.Context(), d, outcome)
	}()
	g.backend.ServeHTTP(seen, r)
	whole = true
}

// complain logs, once in ten seconds, what a backend says of costs and nobody can read.
func (g *gateway) complain(ctx context.Context, ignored []string) {
	now, last := time.Now().Unix(), g.complained.Load()
	if now-last >= 10 && g.complained.CompareAndSwap(last, now) {
		g.log.WarnContext(ctx, "the backend's costs are not readable: want limits and whole numbers, such as chat.tokens=512",
			"field", costField, "ignored", ignored)
	}
}

// hold waits for a request's turn. It returns false if the client has hung up: its turn then passes unused.
func hold(ctx context.Context, delay time.Duration) bool {
	if delay <= 0 {
		return true
	}
	turn := time.NewTimer(delay)
	defer turn.Stop()
	select {
	case <-turn.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func allows(answer *apigw.Response) bool {
	for _, s := range answer.PolicyDocument.Statement {
		if s.Effect != "Allow" {
			return false
		}
	}
	return len(answer.PolicyDocument.Statement) > 0
}

// proxy passes requests on to a backend and adds the decision's fields to its answers.
func proxy(backend *url.URL, log *slog.Logger) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.SetXForwarded()
		},
		ModifyResponse: func(response *http.Response) error {
			addFields(response.Header, decision(response.Request.Context()))
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client has hung up: no failure of the backend, and nothing to refund
			}
			log.ErrorContext(r.Context(), "backend failed", "backend", backend.String(), "error", err)
			http.Error(w, "the backend does not answer", http.StatusBadGateway)
		},
	}
}

type decisionKey struct{}

func withDecision(ctx context.Context, decision map[string]any) context.Context {
	return context.WithValue(ctx, decisionKey{}, decision)
}

// decision returns what the authorizer said of a request; nil for a preflight, which it never saw.
func decision(ctx context.Context) map[string]any {
	d, _ := ctx.Value(decisionKey{}).(map[string]any)
	return d
}

// addFields adds the decision's fields, in place of the backend's own if it set any, with the spelling of their
// specifications, which Header.Set would change.
func addFields(h http.Header, decision map[string]any) {
	for name, value := range apigw.AllowedFields(decision) {
		if strings.HasPrefix(name, "Access-Control-") && h.Get("Access-Control-Allow-Origin") != "" {
			continue // the backend speaks for itself
		}
		h.Del(name)
		h[name] = []string{value}
	}
}

// Serve answers on the listener until the context ends, and then lets requests under way finish.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTime, MaxHeaderBytes: headerSize}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := server.Shutdown(drain)
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		return stopped
	}
	return err
}
