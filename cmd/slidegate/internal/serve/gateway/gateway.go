// Package gateway is the local gateway: the middleware's handler before a reverse
// proxy to a backend, or before an echo of each request.
package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// Options set up a gateway.
type Options struct {
	Decider *engine.Decider
	Backend *url.URL // where to pass allowed requests on; nil echoes them
	// PassHost has the backend get the Host of the client, not its own.
	PassHost bool
	Timeouts Timeouts
	// Dial connects to the backend; nil stands for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger // its repeated lines are throttled
	// UsagePath answers callers with what Usage reports of them; empty for none.
	UsagePath string
	Usage     func(context.Context, *request.Request) (*usage.Report, error)
}

// stage is the stage of all requests, for {stage}.
const stage = "local"

// seen returns what rules see of a request.
func seen(r *http.Request) *request.Request {
	req := httplimit.ReadRequest(r)
	req.Stage = stage
	return req
}

// New returns the gateway as a handler.
func New(o Options) http.Handler {
	log, costs := oplog.Throttle(o.Log), oplog.NewCostWarnings(o.Log)
	h := &httplimit.Handler{
		Decide: func(r *http.Request) (*engine.Decision, error) {
			req := seen(r)
			d, err := o.Decider.DecideRequest(r.Context(), req)
			if err == nil {
				exchangeOf(r).trusted = d.Rules().FromProxy(req)
			}
			return d, err
		},
		Occupy: o.Decider.Engine.Occupier(o.Decider.Now),
		Finish: func(ctx context.Context, d *engine.Decision, of *engine.Outcome, malformed []string) {
			costs.Report(ctx, d, of, malformed)
			o.Decider.Finish(ctx, d, of)
		},
		MaxDelay: rules.LongestHold, Log: log, Next: http.HandlerFunc(echo),
	}
	if o.Backend != nil {
		h.Next = newProxy(&o, log)
	}
	if o.UsagePath != "" {
		h.Usage = &usage.Endpoint{Path: o.UsagePath, Log: log, Report: func(r *http.Request) (*usage.Report, error) {
			req := seen(r)
			if err := o.Decider.Authenticate(r.Context(), req); err != nil {
				return nil, err
			}
			return o.Usage(r.Context(), req)
		}}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, &exchange{})))
	})
}
