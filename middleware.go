package slidegate

import (
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/httplimit"
	"github.com/slidegate/slidegate/internal/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// Middleware limits the requests to a handler by a limiter: by the address of
// the client, or by the key that an option names.
//
//	http.Handle("/", slidegate.Middleware(lim, slidegate.ByIP())(next))
//
// Answers carry the fields RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers), and X-RateLimit-Limit and
// X-RateLimit-Remaining. A denied request gets status 429 with Retry-After and
// problem details (RFC 9457), which scripts of every origin may read. A request
// without a decision gets status 503, and the log says why. CORS preflights pass
// freely.
//
// A request admitted by a [LeakyBucket] waits for its turn. Handlers can flush
// and hijack as without the middleware.
//
// Middleware panics if options contradict each other or lack their function:
// programs call it when they start.
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
// function [Middleware] does by a limiter. It takes the options SkipIf, OnDenied,
// MaxDelay and DescribeBy, and panics for others: keys, costs and refunds are in
// the rules.
//
// Where a rule settles, handlers report the true cost of a request in the field
// Slidegate-Cost, such as "chat.tokens=512", in the head or the trailer of their
// answer. Clients do not see it.
//
// A banned request (Deny, or deny in a file) gets status 403 without Retry-After.
// Rules of a file or a table may choose other fields for answers, and another
// status and body for denials: headers, retry_jitter and denied in docs/rules.md.
func (g *Gate) Middleware(options ...HTTPOption) func(http.Handler) http.Handler {
	c := newHTTPConfig(options, &g.config)
	if c.key != nil || c.cost != nil || c.refundOn != nil {
		panic("slidegate: KeyBy, ByIP, CostBy, RefundOn and their like are for a Limiter: a Gate has keys, costs and refunds in its rules")
	}
	c.handler.Decide = func(r *http.Request) (*engine.Decision, error) {
		req := request.FromHTTP(r)
		if c.describe != nil {
			described := Request{
				Method: req.Method, Path: req.Path, Route: req.Route, Stage: req.Stage, IP: req.IP,
				Headers: req.Headers, Query: req.Query, PathParams: req.PathParams, Claims: req.Claims, APIKey: req.APIKey,
			}
			c.describe(r, &described)
			missing := req.Missing
			req = described.internal()
			req.Missing = missing
		}
		return g.decide(r.Context(), req)
	}
	c.handler.Finish, c.handler.Costs = g.finish, g.costs
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
	log := oplog.Throttle(of.log)
	c := &httpConfig{handler: httplimit.Handler{MaxDelay: rules.LongestHold, Log: log}}
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

// ByIP counts by the address of the connection: "ip:192.0.2.1", and the /64 of an
// IPv6 address, "ip:2001:db8::/64". It is the default. Behind a proxy, all
// clients have the proxy's address: use ByForwardedIP. Connections without an
// address, such as those of a Unix socket, share "ip:".
func ByIP() HTTPOption { return KeyBy(clientAddress(0)) }

// ByForwardedIP counts by the address that the first of this many proxies saw:
// 1 for a load balancer in front of the server. Each of them must append to
// X-Forwarded-For. A client cannot choose another address, because addresses are
// counted from the end of the field; but it can if there are fewer proxies. A
// request with fewer addresses counts by that of the connection.
func ByForwardedIP(proxies int) HTTPOption {
	if proxies < 1 {
		panic("slidegate: ByForwardedIP needs the number of proxies, from 1; ByIP is for none")
	}
	return KeyBy(clientAddress(proxies))
}

// ByHeader counts by the value of a header, such as X-Tenant: "x-tenant:acme".
// Requests without it share a counter. Use it for values that the server has verified: a client
// can send a new one with every request. The store holds the values as they
// are, so do not use it for secrets such as API keys.
func ByHeader(name string) HTTPOption {
	prefix := strings.ToLower(name) + ":"
	return KeyBy(func(r *http.Request) string { return prefix + r.Header.Get(name) })
}

// KeyBy counts by what a function returns, such as the user of a session. A
// middleware has one key: to count by several things, return them all in one
// text.
func KeyBy(key func(*http.Request) string) HTTPOption {
	given("KeyBy", key != nil)
	return func(c *httpConfig) {
		if c.key != nil {
			panic("slidegate: a middleware takes one of ByIP, ByForwardedIP, ByHeader and KeyBy: return several things as one text from KeyBy")
		}
		c.key = key
	}
}

// CostBy charges as many units as a function returns, instead of one.
func CostBy(cost func(*http.Request) int64) HTTPOption {
	given("CostBy", cost != nil)
	return func(c *httpConfig) { c.cost = func(r *http.Request) []int64 { return []int64{cost(r)} } }
}

// RefundOn returns the units of requests whose answer has one of these
// statuses, such as "404" or "5xx". It takes limits by windows: a bucket or a log
// cannot return units, so Middleware panics. A handler that panics has no status,
// and neither has an answer after the client has hung up.
func RefundOn(statuses ...string) HTTPOption {
	return func(c *httpConfig) { c.refundOn = append(c.refundOn, statuses...) }
}

// SkipIf lets requests through for which a function returns true, such as health
// checks. They are not counted. Given several times, one of the functions is
// enough.
func SkipIf(skip func(*http.Request) bool) HTTPOption {
	given("SkipIf", skip != nil)
	return func(c *httpConfig) {
		before := c.handler.Skip
		c.handler.Skip = func(r *http.Request) bool { return before != nil && before(r) || skip(r) }
	}
}

// OnDenied replaces the answer to denied requests. The fields of the limits are
// set; the function writes the status and the body.
func OnDenied(answer func(w http.ResponseWriter, r *http.Request, d *Decision)) HTTPOption {
	given("OnDenied", answer != nil)
	return func(c *httpConfig) {
		c.handler.Denied = func(w http.ResponseWriter, r *http.Request, d *engine.Decision) { answer(w, r, newDecision(d)) }
	}
}

// MaxDelay bounds how long a request waits for its turn in a leaky bucket; 10 s
// by default. A request with a longer delay, or with a deadline before its turn,
// is denied, and stays charged: the limit has allowed it, and observers see that.
func MaxDelay(d time.Duration) HTTPOption {
	return func(c *httpConfig) { c.handler.MaxDelay = d }
}

// DescribeBy completes what a gate's rules see of a request: verified claims, the
// id of an API key, the router's pattern. Given several times, all functions are
// called, in order.
func DescribeBy(describe func(*http.Request, *Request)) HTTPOption {
	given("DescribeBy", describe != nil)
	return func(c *httpConfig) {
		before := c.describe
		c.describe = func(r *http.Request, of *Request) {
			if before != nil {
				before(r, of)
			}
			describe(r, of)
		}
	}
}

// given panics if an option has no function.
func given(option string, is bool) {
	if !is {
		panic("slidegate: " + option + ": the function is nil")
	}
}

// clientAddress returns the key of a client's address: "ip:192.0.2.1", or
// "ip:2001:db8::/64".
func clientAddress(proxies int) func(*http.Request) string {
	address := request.ClientAddress{Hops: proxies}
	return func(r *http.Request) string {
		ip := request.Peer(r)
		if proxies > 0 {
			req := request.FromHTTP(r)
			address.Locate(req)
			ip = req.IP
		}
		ip = ip.Unmap()
		var most [64]byte
		key := append(most[:0], "ip:"...)
		switch {
		case !ip.IsValid():
			return "ip:"
		case ip.Is4():
			return string(ip.AppendTo(key))
		}
		network, _ := ip.Prefix(request.NetworkBits) // an IPv6 address has one
		return string(network.AppendTo(key))
	}
}
