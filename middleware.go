package slidegate

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/httplimit"
	"github.com/slidegate/slidegate/internal/logthrottle"
	"github.com/slidegate/slidegate/internal/outcome"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// defaultMaxDelay is the default of MaxDelay.
const defaultMaxDelay = 10 * time.Second

// Middleware limits the requests to a handler by a limiter: by the address of
// the client, or by the key that an option names.
//
//	http.Handle("/", slidegate.Middleware(lim, slidegate.ByIP())(next))
//
// Answers carry the fields RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers), and X-RateLimit-Limit and
// X-RateLimit-Remaining. A denied request gets status 429 with Retry-After and
// problem details (RFC 9457), which scripts of every origin may read. A request
// without a decision gets status 503. CORS preflights pass freely.
//
// A request admitted by a [LeakyBucket] waits for its turn.
func Middleware(lim *Limiter, options ...HTTPOption) func(http.Handler) http.Handler {
	c := newHTTPConfig(options, &lim.config)
	if c.describe != nil {
		panic("slidegate: DescribeBy is for the middleware of a Gate: a limiter takes KeyBy")
	}
	if c.key == nil {
		c.key = clientAddress(0)
	}
	if c.cost == nil {
		c.cost = func(*http.Request) []int64 { return nil }
	}
	lim = lim.refunding(c.refundOn)
	c.handler.Decide = func(r *http.Request) (*engine.Decision, error) {
		if r.Method == http.MethodOptions && request.FromHTTP(r).IsPreflight() {
			return &engine.Decision{Allowed: true, Reason: engine.Preflight}, nil
		}
		return lim.decide(r.Context(), c.key(r), c.cost(r))
	}
	c.handler.Finish = lim.finish
	return c.middleware
}

// Middleware limits the requests to a handler by the gate's rules, as the
// function [Middleware] does by a limiter. Handlers report the true cost of a
// request in the field Slidegate-Cost, such as "chat.tokens=512", which clients
// do not see.
func (g *Gate) Middleware(options ...HTTPOption) func(http.Handler) http.Handler {
	c := newHTTPConfig(options, &g.config)
	if c.key != nil || c.cost != nil || c.refundOn != nil {
		panic("slidegate: keys, costs and refunds of a Gate are in its rules")
	}
	c.handler.Decide = func(r *http.Request) (*engine.Decision, error) {
		req := request.FromHTTP(r)
		if c.describe != nil {
			described := Request{Method: req.Method, Path: req.Path, IP: req.IP, Headers: req.Headers, Query: req.Query}
			c.describe(r, &described)
			req = described.internal()
		}
		return g.decide(r.Context(), req)
	}
	c.handler.Finish = g.finish
	return c.middleware
}

// HTTPOption sets up a middleware.
type HTTPOption func(*httpConfig)

type httpConfig struct {
	handler  httplimit.Handler
	key      func(*http.Request) string
	cost     func(*http.Request) []int64
	describe func(*http.Request, *Request)
	refundOn []string
}

func newHTTPConfig(options []HTTPOption, of *config) *httpConfig {
	log := slog.New(logthrottle.New(of.log.Handler()))
	c := &httpConfig{handler: httplimit.Handler{MaxDelay: defaultMaxDelay, Log: log, Costs: outcome.NewWarnings(of.log)}}
	for _, o := range options {
		o(c)
	}
	return c
}

func (c *httpConfig) middleware(next http.Handler) http.Handler {
	h := c.handler
	h.Next = next
	return &h
}

// ByIP counts by the address of the connection, and by the /64 of an IPv6
// address. It is the default.
func ByIP() HTTPOption { return KeyBy(clientAddress(0)) }

// ByForwardedIP counts by the address that the first of this many proxies saw.
// Each of them must append to X-Forwarded-For. A client cannot choose another
// address, because addresses are counted from the end of the field.
func ByForwardedIP(proxies int) HTTPOption { return KeyBy(clientAddress(proxies)) }

// ByHeader counts by the value of a header, such as X-Tenant. Requests without
// it share a counter. Use it for values that the server has verified: a client
// can send a new one with every request. The store holds the values as they
// are, so do not use it for secrets such as API keys.
func ByHeader(name string) HTTPOption {
	return KeyBy(func(r *http.Request) string { return name + ":" + r.Header.Get(name) })
}

// KeyBy counts by what a function returns, such as the user of a session.
func KeyBy(key func(*http.Request) string) HTTPOption {
	return func(c *httpConfig) { c.key = key }
}

// CostBy charges as many units as a function returns, instead of one.
func CostBy(cost func(*http.Request) int64) HTTPOption {
	return func(c *httpConfig) { c.cost = func(r *http.Request) []int64 { return []int64{cost(r)} } }
}

// RefundOn returns the units of requests whose answer has one of these
// statuses, such as "404" or "5xx". Buckets and logs keep them.
func RefundOn(statuses ...string) HTTPOption {
	return func(c *httpConfig) { c.refundOn = append(c.refundOn, statuses...) }
}

// SkipIf lets requests through for which a function returns true, such as health
// checks. They are not counted.
func SkipIf(skip func(*http.Request) bool) HTTPOption {
	return func(c *httpConfig) { c.handler.Skip = skip }
}

// OnDenied replaces the answer to denied requests. The fields of the limits are
// set; the function writes the status and the body.
func OnDenied(answer func(w http.ResponseWriter, r *http.Request, d *Decision)) HTTPOption {
	return func(c *httpConfig) {
		c.handler.Denied = func(w http.ResponseWriter, r *http.Request, d *engine.Decision) { answer(w, r, newDecision(d)) }
	}
}

// MaxDelay bounds how long a request waits for its turn in a leaky bucket; 10 s
// by default. A request with a longer delay is denied, and stays charged.
func MaxDelay(d time.Duration) HTTPOption {
	return func(c *httpConfig) { c.handler.MaxDelay = d }
}

// DescribeBy completes what a gate's rules see of a request: verified claims, the
// id of an API key, the router's pattern.
func DescribeBy(describe func(*http.Request, *Request)) HTTPOption {
	return func(c *httpConfig) { c.describe = describe }
}

// addressKey is the key of a client's address, as rules make it.
var addressKey, _ = key.Parse("ip:{ip}")

func clientAddress(proxies int) func(*http.Request) string {
	address := request.ClientAddress{Hops: proxies}
	return func(r *http.Request) string {
		req := request.FromHTTP(r)
		address.Locate(req)
		return string(addressKey.Append(nil, req, ""))
	}
}
