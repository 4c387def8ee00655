// Package headers formats decisions as HTTP fields: RateLimit and
// RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-11, Retry-After of
// RFC 9110, and the problem details of RFC 9457.
//
// Names of rules and limits are plain ASCII without quotes, so no value needs
// escaping.
package headers

import (
	"strconv"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Policy is one limit as a client sees it.
type Policy struct {
	Name   string // "rule", or "rule.limit" where a rule has several
	Limit  *limit.Limit
	Result limit.Result
}

// AppendRateLimit appends one item of the RateLimit field, such as
// `"per-user";r=50;t=30`: the units left, and the seconds until the limit is
// unused. For a denial, t is at most the retry-after, so that no client waits
// longer than it has to.
func AppendRateLimit(dst []byte, p *Policy) []byte {
	wait := p.Result.Reset
	if !p.Result.Allowed && p.Result.RetryAfter != limit.Never {
		wait = min(wait, p.Result.RetryAfter)
	}
	dst = appendName(dst, p.Name)
	dst = append(dst, ";r="...)
	dst = strconv.AppendInt(dst, p.Result.Remaining, 10)
	dst = append(dst, ";t="...)
	return strconv.AppendInt(dst, Seconds(wait), 10)
}

// AppendPolicy appends one item of the RateLimit-Policy field, such as
// `"per-user";q=100;w=60`: the capacity and the window in seconds, which is the
// nominal length for a calendar window. That is the rate that a client can
// sustain. A token bucket may allow more than q units for a while.
func AppendPolicy(dst []byte, p *Policy) []byte {
	dst = appendName(dst, p.Name)
	dst = append(dst, ";q="...)
	dst = strconv.AppendInt(dst, p.Limit.Capacity, 10)
	dst = append(dst, ";w="...)
	return strconv.AppendInt(dst, Seconds(p.Limit.Window), 10)
}

// appendName appends an item's name, after a comma if the list has items.
func appendName(dst []byte, name string) []byte {
	if len(dst) > 0 {
		dst = append(dst, ", "...)
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"')
}

// RetryAfter returns the value of the Retry-After field: whole seconds, rounded
// up, at least 1. It is empty if waiting does not help.
func RetryAfter(d time.Duration) string {
	if d == limit.Never {
		return ""
	}
	return strconv.FormatInt(max(1, Seconds(d)), 10)
}

// Seconds rounds up to whole seconds, so that no field says too early a time.
func Seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}
