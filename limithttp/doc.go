// Package limithttp limits the requests to an HTTP handler, and those of an HTTP
// client.
//
//	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
//	…
//	http.Handle("/", limithttp.Middleware(lim, limithttp.ByIP())(next))
//
// Each part works without the others:
//
//   - [Middleware] decides by a limiter, and [GateMiddleware] by the rules of a
//     gate. Both answer denied requests, and report to clients what is left.
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
// Of several middlewares around one handler, the innermost sets the fields of the
// answer. Limits that belong together are better in one limiter or one gate:
// clients then see them all.
package limithttp
