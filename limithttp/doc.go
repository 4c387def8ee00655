// Package limithttp limits the requests to an HTTP handler, and those of an HTTP
// client.
//
//	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
//	…
//	http.Handle("/", limithttp.Middleware(lim, limithttp.ByIP())(next))
//
// Each part stands for itself:
//
//   - [Middleware] decides by a limiter, and [GateMiddleware] by the rules of a
//     gate. Both answer denied requests, and tell clients what is left.
//   - [SetFields] and [Deny] write the same answers in a handler that calls the
//     limiter itself.
//   - [Transport] makes an HTTP client keep to limits: its own, and those of the
//     other side.
//   - [SettleMiddleware] is for a backend behind Slidegate's Lambda authorizer.
//
// # Whom to count
//
// [ByIP] counts by the address of the connection, which a client cannot choose.
// Behind proxies that is the proxy's: take [ByForwardedIP] with their number.
// [ByHeader] and [ByKey] count by what the program knows, such as a user. A client
// that can choose its key has as many limits as it makes up.
//
// # Several limits
//
// The last of several middlewares sets the fields of the answer. For limits that
// belong together give one limiter several limits, or take a gate: clients then
// see them all.
package limithttp
