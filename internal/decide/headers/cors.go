package headers

import (
	"net/http"
	"slices"
)

// Exposed lists the fields that scripts of another origin may read.
const Exposed = "RateLimit,RateLimit-Policy,Retry-After,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After"

// Names of fields of CORS.
const (
	AllowOrigin   = "Access-Control-Allow-Origin"
	ExposeHeaders = "Access-Control-Expose-Headers"
)

// Expose lets scripts read the fields of limits in a backend's answer, if the
// backend lets their origin read the answer. Its own list stays.
func Expose(h http.Header) {
	if h.Get(AllowOrigin) != "" && !slices.Contains(h.Values(ExposeHeaders), Exposed) {
		h.Add(ExposeHeaders, Exposed)
	}
}
