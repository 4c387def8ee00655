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
	"net/url"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/sparing"
)

// DefaultMaxDelay bounds a delay where Options do not. It is what rule documents are warned by.
const DefaultMaxDelay = rules.LongestHold

const (
	// drainTime is how long requests under way may take when the gateway stops: one that is held still gets its answer.
	drainTime = DefaultMaxDelay + 5*time.Second
	// headerTime and headerSize bound what a client may send before it is judged; 10 KB is what API Gateway takes.
	headerTime = 10 * time.Second
	headerSize = 10 << 10
	// restTime bounds what is still to come of a request that is refused.
	restTime = 5 * time.Second
	// idleTime is how long a connection is kept for its next request.
	idleTime = time.Minute
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
	complaints *complaints
	failures   sparing.Line
}

// New returns the gateway as a handler.
func New(o Options) http.Handler {
	g := &gateway{authorizer: o.Authorizer, backend: http.HandlerFunc(echo), stage: o.Stage, maxDelay: o.MaxDelay, log: o.Log}
	g.complaints = &complaints{log: o.Log, strange: map[string]bool{}}
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
		seen := &witness{ResponseWriter: w, old: !r.ProtoAtLeast(1, 1)}
		g.backend.ServeHTTP(seen, r)
		seen.outcome() // nothing was charged, but what it would have cost is hidden all the same
		return
	}
	answer, d, err := g.authorizer.Decide(r.Context(), event(r, g.stage))
	if err != nil && r.Context().Err() != nil {
		abandon()
	}
	if err != nil {
		if held, ok := g.failures.Due(time.Now()); ok {
			g.log.ErrorContext(r.Context(), "authorizer failed", "error", err, "held_back", held)
		}
		respond(w, r, g.responses["DEFAULT_5XX"], http.StatusInternalServerError, nil)
		return
	}
	if !allows(&answer) {
		respond(w, r, g.responses["ACCESS_DENIED"], http.StatusForbidden, answer.Context)
		return
	}
	delay := apigw.Delay(answer.Context)
	if delay > g.maxDelay {
		respond(w, r, g.responses["ACCESS_DENIED"], http.StatusForbidden, apigw.TooLong(answer.Context, delay))
		return
	}
	if !hold(r.Context(), delay) {
		abandon()
	}
	g.pass(w, r.WithContext(withDecision(r.Context(), answer.Context)), d)
}

// pass has the backend answer, and corrects what the request was charged by what became of it. An answer that breaks off
// panics (http.ErrAbortHandler), and is an outcome too.
func (g *gateway) pass(w http.ResponseWriter, r *http.Request, d *engine.Decision) {
	seen, whole := &witness{ResponseWriter: w, old: !r.ProtoAtLeast(1, 1)}, false
	defer func() {
		outcome, ignored := seen.outcome()
		outcome.Aborted = outcome.Aborted || !whole || r.Context().Err() != nil
		g.complaints.unreadable(r.Context(), ignored)
		g.complaints.unsettled(r.Context(), d, outcome.Costs)
		g.authorizer.Finish(r.Context(), d, outcome)
	}()
	g.backend.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), witnessKey{}, seen)))
	whole = true
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
	server := &http.Server{Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerSize}
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
