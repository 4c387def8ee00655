// Package gateway is a local substitute for API Gateway. It turns HTTP requests
// into events of a REST API's authorizer, runs the Lambda's own handler, and
// applies the gateway responses that the construct deploys. It passes allowed
// requests on to a backend or echoes them.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// DefaultMaxDelay is the default of Options.MaxDelay. Warnings about rules
// documents assume it.
const DefaultMaxDelay = rules.LongestHold

const (
	// drainTime bounds how long requests under way may take when the gateway
	// stops. A delayed request still gets its answer.
	drainTime = DefaultMaxDelay + 5*time.Second
	// headerTime bounds how long the header of a request may take.
	headerTime = 10 * time.Second
	// restTime bounds how long the rest of a denied request may take.
	restTime = 5 * time.Second
)

// HeaderSize bounds the header of a request, as API Gateway does.
const HeaderSize = 10 << 10

// Options set up a gateway.
type Options struct {
	Authorizer *apigw.Authorizer
	Backend    *url.URL // where to pass allowed requests on; nil echoes them
	// MaxDelay bounds how long an allowed request waits for its turn in a leaky
	// bucket; 0 stands for DefaultMaxDelay. A request with a longer delay is
	// denied, and stays charged: passing it on early would let a burst through.
	MaxDelay time.Duration
	Timeouts Timeouts
	// Transport calls the backend; nil stands for one that goes to it directly
	// and passes answers on as they are.
	Transport http.RoundTripper
	Log       *slog.Logger // its repeated lines are throttled
	// UsagePath answers callers with what Usage reports of them; empty for none.
	UsagePath string
	Usage     func(context.Context, *request.Request) (*usage.Report, error)
}

type gateway struct {
	authorizer *apigw.Authorizer
	backend    http.Handler
	maxDelay   time.Duration
	responses  map[string]apigw.GatewayResponse
	log        *slog.Logger
	costs      *oplog.CostWarnings
	usage      *usage.Endpoint // nil for none
}

// New returns the gateway as a handler.
func New(o Options) http.Handler {
	g := &gateway{
		authorizer: o.Authorizer, backend: http.HandlerFunc(echo), maxDelay: cmp.Or(o.MaxDelay, DefaultMaxDelay),
		log: oplog.Throttle(o.Log), costs: oplog.NewCostWarnings(o.Log),
	}
	if o.Backend != nil {
		g.backend = proxy(o.Backend, patient{cmp.Or(o.Transport, directly()), o.Timeouts.withDefaults().Backend}, g.log)
	}
	if o.UsagePath != "" {
		g.usage = &usage.Endpoint{Path: o.UsagePath, Log: g.log, Report: func(r *http.Request) (*usage.Report, error) {
			req := httplimit.ReadRequest(r)
			if err := g.authorizer.Authenticate(r.Context(), req); err != nil {
				return nil, err
			}
			return o.Usage(r.Context(), req)
		}}
	}
	g.responses = map[string]apigw.GatewayResponse{}
	for _, r := range apigw.GatewayResponses() {
		g.responses[r.Type] = r
	}
	return g
}

// directly returns a transport that uses no proxy of the environment, and asks
// for no compression that the client has not asked for.
func directly() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.DisableCompression = nil, true
	return t
}

// ServeHTTP calls the authorizer, also for preflights: bans apply to them.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.usage.Serve(w, r) {
		return
	}
	answer, d, err := g.authorizer.Decide(r.Context(), event(r))
	if err != nil && r.Context().Err() != nil {
		abort()
	}
	if errors.Is(err, apigw.ErrUnauthorized) {
		g.respond(w, r, "UNAUTHORIZED", &apigw.Context{})
		return
	}
	if err != nil {
		g.log.ErrorContext(r.Context(), "authorizer failed", "error", err)
		g.respond(w, r, "DEFAULT_5XX", &apigw.Context{})
		return
	}
	if !d.Allowed {
		if d.Reason == engine.Limited {
			g.usage.Link(w.Header())
		}
		g.respond(w, r, "ACCESS_DENIED", answer.Context)
		return
	}
	if d.Delay > g.maxDelay {
		g.respond(w, r, "ACCESS_DENIED", apigw.TooLong(d))
		return
	}
	if clock.Sleep(r.Context(), d.Delay) != nil {
		g.authorizer.Finish(r.Context(), d, &engine.Outcome{Unused: true})
		abort()
	}
	g.pass(w, r, answer.Context, d)
}

// pass lets the backend answer, and corrects the request's charge by its
// outcome. That also happens after an answer that breaks off, which panics with
// http.ErrAbortHandler.
func (g *gateway) pass(w http.ResponseWriter, r *http.Request, decision *apigw.Context, d *engine.Decision) {
	recorded, r := record(w, r, decision)
	whole := false
	defer func() {
		o, malformed := recorded.outcome()
		o.Aborted = o.Aborted || !whole || r.Context().Err() != nil
		g.costs.Report(r.Context(), d, o, malformed)
		g.authorizer.Finish(r.Context(), d, o)
	}()
	g.backend.ServeHTTP(recorded, r)
	whole = true
}

// addFields adds the fields of the decision's limits, and replaces those of the
// same name. The names keep the case of their specifications, which Header.Set
// would change.
func addFields(h http.Header, decision *apigw.Context) {
	for name, value := range decision.Fields() {
		h.Del(name)
		h[name] = []string{value}
	}
}

// addCORS lets scripts of every origin read an answer of the gateway's own.
func addCORS(h http.Header) {
	for name, value := range apigw.CORSFields() {
		h.Set(name, value)
	}
}

// Serve serves the listener until the context ends. It then lets requests under
// way finish, for drainTime. headerSize bounds the header of a request, in bytes.
func Serve(ctx context.Context, l net.Listener, h http.Handler, t Timeouts, headerSize int) error {
	t = t.withDefaults()
	server := &http.Server{
		Handler: h, DisableGeneralOptionsHandler: true, // bans and rules apply to "OPTIONS *" too
		ReadHeaderTimeout: min(headerTime, t.Read), ReadTimeout: t.Read, IdleTimeout: t.Idle, MaxHeaderBytes: headerSize,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(impatient{l, t.Write}) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close()
		err = fmt.Errorf("requests were under way for %v after the end, and were cut off", drainTime)
	}
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		return stopped
	}
	return err
}
