// Package headers formats decisions as HTTP fields: RateLimit and
// RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-11, Retry-After of
// RFC 9110, and the problem details of RFC 9457.
//
// Clients know a limit as "rule", or as "rule.limit" if the rule has several.
// These names are plain ASCII without quotes, so no value needs escaping.
package headers

import (
	"net/http"
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// InvalidToken is the value of WWW-Authenticate in an answer with status 401: the
// scheme of the credentials that are wanted (RFC 6750, section 3).
const InvalidToken = `Bearer error="invalid_token"`

// AppendRateLimit appends one item of the RateLimit field, such as
// `"per-user";r=50;t=30`: the units left, and the seconds until the limit is
// unused. For a limit that denies, t is at most the retry-after, so that no client
// waits longer than it has to.
func AppendRateLimit(dst []byte, rule, name string, r *limit.Result) []byte {
	return strconv.AppendInt(append(appendItem(dst, rule, name, ";r=", r.Remaining), ";t="...), untilReset(r), 10)
}

// appendItem appends an item of a list: a limit by its name, and a number.
func appendItem(dst []byte, rule, limit, first string, n int64) []byte {
	if len(dst) > 0 {
		dst = append(dst, ", "...)
	}
	dst = append(append(dst, '"'), rule...)
	if limit != "" {
		dst = append(append(dst, '.'), limit...)
	}
	return strconv.AppendInt(append(append(dst, '"'), first...), n, 10)
}

// untilReset returns the t of a RateLimit item.
func untilReset(r *limit.Result) int64 {
	wait := r.Reset
	if !r.Allowed && r.RetryAfter != limit.Never {
		wait = min(wait, r.RetryAfter)
	}
	return Seconds(wait)
}

// AppendRateLimitPolicy appends one item of the RateLimit-Policy field, such as
// `"per-user";q=100;w=60`: the capacity and the window in seconds, which is the
// nominal length for a calendar window. That is the rate that a client can
// sustain. A token bucket may allow more than q units for a while. A limit in
// flight has no window, and so no w.
func AppendRateLimitPolicy(dst []byte, rule string, l *limit.Limit) []byte {
	dst = appendItem(dst, rule, l.Name, ";q=", l.Capacity)
	if l.Algorithm == limit.InFlight {
		return dst
	}
	return strconv.AppendInt(append(dst, ";w="...), Seconds(l.Window), 10)
}

// RetryAfter returns the value of the Retry-After field: whole seconds, rounded
// up, at least 1. For a full window of 10 s with slots of 200 ms it is up to 11:
// a slot counts until one window after its end. It is empty if waiting does not
// help.
func RetryAfter(d time.Duration) string {
	if d == limit.Never {
		return ""
	}
	return strconv.FormatInt(max(1, Seconds(d)), 10)
}

// Seconds rounds up to whole seconds, so that no field promises too early a time.
func Seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// Problem is a type of problem details (RFC 9457) with its title, and a detail if
// the rules state one.
type Problem struct {
	Type, Title, Detail string

	status  int    // 0 for 429
	heading string // of a page; "" for the name of the status
}

// ProblemsPage explains each problem of Slidegate's own, by its fragment.
const ProblemsPage = "https://github.com/slidegate/slidegate/blob/main/docs/problems.md"

// The problems of denials. draft-ietf-httpapi-ratelimit-headers defines the
// first two.
var (
	QuotaExceeded = Problem{
		Type:  "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title: "Request cannot be satisfied as assigned quota has been exceeded",
	}
	ReducedCapacity = Problem{
		Type:  "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
		Title: "Request cannot be satisfied due to temporary server capacity constraints",
	}
	Blocked = Problem{
		Type:  ProblemsPage + "#blocked",
		Title: "Requests from this client are blocked", status: http.StatusForbidden, // waiting does not end a ban
	}
	// Unauthorized is for answers to invalid or missing credentials that no gateway
	// gives by itself.
	Unauthorized = Problem{
		Type:  ProblemsPage + "#unauthorized",
		Title: "This request has no valid credentials", status: http.StatusUnauthorized,
	}
	Unmatched = Problem{
		Type:  ProblemsPage + "#unmatched",
		Title: "No rule admits this request", status: http.StatusForbidden, // waiting brings no rule
	}
	AmbiguousPath = Problem{
		Type:  ProblemsPage + "#ambiguous-path",
		Title: "Servers may read the path or the query of this request in several ways", status: http.StatusBadRequest, // waiting does not end this either
	}
)
