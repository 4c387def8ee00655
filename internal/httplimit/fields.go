package httplimit

import (
	"encoding/json"
	"net/http"

	"github.com/slidegate/slidegate/internal/headers"
)

// setFields adds the fields of a decision's limits, and replaces those of the
// same name. The names keep the case of their specifications, which Header.Set
// would change.
func setFields(h http.Header, a *headers.Answer) {
	for _, field := range [...]struct{ name, value string }{
		{"RateLimit", a.RateLimit}, {"RateLimit-Policy", a.RateLimitPolicy},
		{"X-RateLimit-Limit", a.Limit}, {"X-RateLimit-Remaining", a.Remaining},
		{"Retry-After", a.RetryAfter}, {"X-RateLimit-Retry-After", a.RetryAfter},
	} {
		if field.value != "" {
			h.Del(field.name)
			h[field.name] = []string{field.value}
		}
	}
}

// allowOrigins lets scripts of every origin read an answer of the limiter's own.
func allowOrigins(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", headers.Exposed)
}

// exposeFields lets scripts read the fields of limits in a handler's answer, if
// the handler lets their origin read the answer. Its own list stays.
func exposeFields(h http.Header) {
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Add("Access-Control-Expose-Headers", headers.Exposed)
	}
}

// problem is the body of a denial: problem details of RFC 9457, with the member
// that draft-ietf-httpapi-ratelimit-headers adds.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies,omitempty"`
}

// writeProblem answers with a problem. The client may have hung up, so errors
// are of no use.
func writeProblem(w http.ResponseWriter, status int, p headers.Problem, rule string) {
	body := problem{Type: p.Type, Title: p.Title, Status: status}
	if rule != "" {
		body.Violated = []string{rule}
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
