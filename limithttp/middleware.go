package limithttp

import (
	"context"
	"net/http"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
)

// Middleware limits the requests to a handler by a limiter: by the address of
// the client, or by the key that an option names.
//
//	http.Handle("/", limithttp.Middleware(lim, limithttp.ByIP())(next))
//
// Answers carry the fields RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers), and X-RateLimit-Limit and
// X-RateLimit-Remaining. A denied request gets status 429 with Retry-After and
// problem details (RFC 9457), which scripts of every origin may read. A request
// without a decision gets status 503, and the log says why. CORS preflights pass
// freely.
//
// A request admitted by a [slidegate.LeakyBucket] waits for its turn. Handlers can
// flush and hijack as without the middleware.
//
// A request has its place [slidegate.InFlight] until its handler returns, also if
// that hijacks the connection. The middleware renews it meanwhile. If another
// request may have the place, because the store did not answer for too long, the
// request's context ends.
//
// Middleware panics if options contradict each other or lack their function:
// programs call it when they start.
func Middleware(lim *slidegate.Limiter, options ...Option) func(http.Handler) http.Handler {
	c := newConfig()
	for _, o := range options {
		o.forLimiter(c)
	}
	if c.key == nil {
		c.key = c.clientAddress(0)
	}
	parts, err := lim.Parts(c.refundOn)
	if err != nil {
		panic("limithttp: " + err.Error())
	}
	h := &c.handler
	h.Log, h.PassCosts = oplog.Throttle(parts.Log), true
	h.Decide = func(r *http.Request) (*engine.Decision, error) {
		if r.Method == http.MethodOptions && httplimit.ReadRequest(r).IsPreflight() {
			return &engine.Decision{Allowed: true, Reason: engine.Preflight}, nil
		}
		return parts.Decide(r.Context(), c.key(r), c.cost(r))
	}
	h.Occupy = parts.Occupy
	h.Finish = func(ctx context.Context, d *engine.Decision, o *engine.Outcome, _ []string) { parts.Finish(ctx, d, o) }
	return c.middleware()
}

// GateMiddleware limits the requests to a handler by a gate's rules, as
// [Middleware] does by a limiter. Keys, costs and refunds are in the rules.
//
// Where a rule settles, handlers report the true cost of a request in the field
// Slidegate-Cost, such as "chat.tokens=512", in the head or the trailer of their
// answer. Clients do not see it.
//
// A banned request (Deny, or deny in a file) gets status 403 without Retry-After,
// also if it is a CORS preflight. Rules that name OPTIONS count preflights.
// Rules of a file or a table may choose other fields for answers, and another
// status and body for denials: headers, retry_jitter and denied in docs/rules.md.
func GateMiddleware(g *gate.Gate, options ...GateOption) func(http.Handler) http.Handler {
	c := newConfig()
	for _, o := range options {
		o.forGate(c)
	}
	parts := g.Parts()
	h := &c.handler
	h.Log = oplog.Throttle(parts.Log)
	h.Decide = func(r *http.Request) (*engine.Decision, error) {
		return parts.Decide(r.Context(), c.described(r))
	}
	h.Occupy, h.Finish = parts.Occupy, parts.Finish
	if c.usagePath != "" {
		of := usage.New(usage.Options{
			Rules: parts.Rules.RuleSource, Overrides: parts.Rules.Overrides, Store: parts.Store, Now: parts.Now, Deadline: parts.Deadline,
		})
		h.Usage = &usage.Endpoint{Path: c.usagePath, Log: h.Log, Report: func(r *http.Request) (*usage.Report, error) {
			return of.Of(r.Context(), c.described(r))
		}}
	}
	return c.middleware()
}

// described returns what rules see of a request.
func (c *config) described(r *http.Request) *request.Request {
	of := httplimit.ReadRequest(r)
	if len(c.describe) == 0 {
		return of
	}
	d := gate.Request{
		Method: of.Method, Path: of.Path, Route: of.Route, Stage: of.Stage, IP: of.IP,
		Headers: of.Headers, Query: of.Query, PathParams: of.PathParams, Claims: of.Claims, APIKey: of.APIKey,
	}
	for _, describe := range c.describe {
		describe(r, &d)
	}
	stated := d.ForRules()
	stated.Missing = of.Missing
	return stated
}
