package limithttp

import (
	"net/http"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/headers"
)

// SetFields sets the fields of an answer, as [Middleware] does, by a result of the
// limiter: RateLimit, RateLimit-Policy, X-RateLimit-Limit and
// X-RateLimit-Remaining, and Retry-After if the request was denied. It is for
// handlers that call the limiter themselves, before they write the answer.
//
// Times are in whole seconds, rounded up. Retry-After is at least 1. A request
// that can never be allowed has none, because to wait does not help.
func SetFields(h http.Header, lim *slidegate.Limiter, r slidegate.Result) {
	answer := answerOf(lim, r)
	httplimit.SetFields(h, &answer)
}

// Deny answers a denied request as [Middleware] does: the fields of [SetFields],
// status 429 and problem details (RFC 9457), which scripts of every origin may
// read. A request without a decision, because the limiter returned an error, is
// not a denied one: answer it with status 503.
//
//	r, err := lim.AllowN(ctx, user, tokens)
//	switch {
//	case err != nil:
//		http.Error(w, "try again", http.StatusServiceUnavailable)
//		return
//	case !r.Allowed:
//		limithttp.Deny(w, lim, r)
//		return
//	}
func Deny(w http.ResponseWriter, lim *slidegate.Limiter, r slidegate.Result) {
	r.Allowed = false
	answer := answerOf(lim, r)
	httplimit.Deny(w, &answer)
}

func answerOf(lim *slidegate.Limiter, r slidegate.Result) headers.Answer {
	return headers.Describe(lim.DecisionOf(r))
}
