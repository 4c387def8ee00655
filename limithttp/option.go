package limithttp

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Option sets up [Middleware].
type Option interface{ forLimiter(*config) }

// GateOption sets up [GateMiddleware].
type GateOption interface{ forGate(*config) }

// SharedOption sets up [Middleware] or [GateMiddleware].
type SharedOption func(*config)

func (o SharedOption) forLimiter(c *config) { o(c) }
func (o SharedOption) forGate(c *config)    { o(c) }

type limiterOption func(*config)

func (o limiterOption) forLimiter(c *config) { o(c) }

type gateOption func(*config)

func (o gateOption) forGate(c *config) { o(c) }

// keyFunc returns the key of a request.
type keyFunc func(*http.Request) string

// config is what options fill in.
type config struct {
	handler   httplimit.Handler
	usagePath string

	key      keyFunc // of a limiter
	cost     func(*http.Request) int64
	refundOn []string

	describe []func(*http.Request, *gate.Request) // of a gate
}

func newConfig() *config {
	return &config{handler: httplimit.Handler{MaxDelay: rules.LongestHold}, cost: func(*http.Request) int64 { return 1 }}
}

// middleware returns handlers that decide requests in front of another.
func (c *config) middleware() func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		h := c.handler
		h.Next = next
		return &h
	}
}

// ByIP counts by the address of the connection: "ip:192.0.2.1", and the /64 of an
// IPv6 address, "ip:2001:db8::/64". It is the default. Behind a proxy, all
// clients have the proxy's address: use ByForwardedIP. Connections without an
// address, such as those of a Unix socket, share "ip:".
func ByIP() Option { return byKey(func(c *config) keyFunc { return c.clientAddress(0) }) }

// ByForwardedIP counts by the address that the first of this many proxies saw:
// 1 for a load balancer in front of the server. Each of them must append to
// X-Forwarded-For. A client cannot choose another address, because addresses are
// counted from the end of the field; but it can if there are fewer proxies. A
// request with fewer addresses counts by that of the connection. So does one whose
// entry is no address, and the log says so.
func ByForwardedIP(proxies int) Option {
	if proxies < 1 {
		panic("limithttp: ByForwardedIP needs the number of proxies, from 1; ByIP is for none")
	}
	return byKey(func(c *config) keyFunc { return c.clientAddress(proxies) })
}

// ByHeader counts by the value of a header, such as X-Tenant: "x-tenant:acme".
// Requests without it share a counter. Use it for values that the server has
// verified: a client can send a new one with every request. The store holds the
// values as they are, so do not use it for secrets such as API keys. ByHeader
// panics if the name cannot be that of one header.
func ByHeader(name string) Option {
	if !key.IsHeader(name) {
		panic(fmt.Sprintf("limithttp: ByHeader(%q): want the name of one header, such as X-Tenant", name))
	}
	prefix := strings.ToLower(name) + ":"
	return ByKey(func(r *http.Request) string {
		if prefix == "host:" { // net/http removes it from the fields
			return prefix + r.Host
		}
		return prefix + r.Header.Get(name)
	})
}

// ByKey counts by what a function returns, such as the user of a session. A
// middleware has one key: to count by several things, return them all in one
// text.
func ByKey(key func(*http.Request) string) Option {
	given("ByKey", key != nil)
	return byKey(func(*config) keyFunc { return key })
}

func byKey(of func(*config) keyFunc) Option {
	return limiterOption(func(c *config) {
		if c.key != nil {
			panic("limithttp: a middleware takes one of ByIP, ByForwardedIP, ByHeader and ByKey: return several things as one text from ByKey")
		}
		c.key = of(c)
	})
}

// WithCost charges as many units as a function returns, instead of one.
func WithCost(cost func(*http.Request) int64) Option {
	given("WithCost", cost != nil)
	return limiterOption(func(c *config) { c.cost = cost })
}

// RefundOn returns the units of requests whose answer has one of these
// statuses, such as "404" or "5xx". It takes limits by windows: a bucket or a log
// cannot return units, so Middleware panics. A handler that panics has no status,
// and neither has an answer after the client has hung up.
func RefundOn(statuses ...string) Option {
	return limiterOption(func(c *config) { c.refundOn = append(c.refundOn, statuses...) })
}

// SkipIf lets requests through for which a function returns true, such as health
// checks. They are not counted. Given several times, one of the functions is
// enough.
func SkipIf(skip func(*http.Request) bool) SharedOption {
	given("SkipIf", skip != nil)
	return func(c *config) {
		before := c.handler.Skip
		c.handler.Skip = func(r *http.Request) bool { return before != nil && before(r) || skip(r) }
	}
}

// UsagePath answers GET requests of a path, such as "/usage", with what their
// caller has used of its limits, as JSON; docs/usage.md has its form. The requests
// are charged nothing and do not reach the handler, and a denial with status 429
// names the path in a Link field. A caller sees its numbers of the rules that
// count by its address, its API key or its verified claims, which [WithRequest]
// gives.
//
// UsagePath panics if the path is empty or /, or has wildcards, a query or escapes.
func UsagePath(path string) GateOption {
	if err := usage.CheckPath(path); err != nil {
		panic(fmt.Sprintf("limithttp: UsagePath(%q): %v", path, err))
	}
	return gateOption(func(c *config) { c.usagePath = path })
}

// OnDenied replaces the answer to denied requests. The fields of the limits are
// set; the function writes the status and the body. The rule of a limiter's
// decision is the limiter's name.
func OnDenied(answer func(w http.ResponseWriter, r *http.Request, d *gate.Decision)) SharedOption {
	given("OnDenied", answer != nil)
	return func(c *config) {
		c.handler.Denied = func(w http.ResponseWriter, r *http.Request, d *engine.Decision) {
			answer(w, r, gate.DecisionOf(d))
		}
	}
}

// MaxDelay bounds how long a request waits for its turn in a leaky bucket; 10 s
// by default. A request with a longer delay, or with a deadline before its turn,
// is denied, and stays charged: the limit has allowed it, and observers see that.
func MaxDelay(d time.Duration) SharedOption {
	return func(c *config) { c.handler.MaxDelay = d }
}

// WithRequest completes what a gate's rules see of a request: verified claims, the
// id of an API key, the router's pattern. Given several times, all functions are
// called, in order.
func WithRequest(describe func(*http.Request, *gate.Request)) GateOption {
	given("WithRequest", describe != nil)
	return gateOption(func(c *config) { c.describe = append(c.describe, describe) })
}

// given panics if an option has no function.
func given(option string, is bool) {
	if !is {
		panic("limithttp: " + option + ": the function is nil")
	}
}

// clientAddress returns the key of a client's address: "ip:192.0.2.1", or
// "ip:2001:db8::/64".
func (c *config) clientAddress(proxies int) keyFunc {
	address := request.ClientAddress{Hops: proxies}
	return func(r *http.Request) string {
		ip := httplimit.Peer(r)
		if proxies > 0 {
			req := httplimit.ReadRequest(r)
			address.Locate(req)
			oplog.WarnAddress(r.Context(), c.handler.Log, req)
			ip = req.IP
		}
		if !ip.IsValid() {
			return "ip:"
		}
		var most [64]byte
		return string(request.AppendNetwork(append(most[:0], "ip:"...), ip, request.NetworkBits))
	}
}
