package httplimit

import (
	"io"
	"net/http"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// Deny writes the answer to a denied request.
func Deny(w http.ResponseWriter, a *headers.Answer) {
	SetFields(w.Header(), a)
	allowOrigins(w.Header())
	write(w, a.Denial())
}

// SetFields adds the fields of a decision's limits, and replaces those of the
// same name. A handler can read and replace them. The names are in canonical
// case, by which Header finds them.
func SetFields(h http.Header, a *headers.Answer) {
	var values []string // of all fields, in one allocation
	for field := range a.Fields() {
		if values == nil {
			values = make([]string, 0, headers.MostFields)
		}
		n := len(values)
		values = append(values, field.Value)
		h[field.Canonical] = values[n : n+1 : n+1]
	}
}

// allowOrigins lets scripts of every origin read an answer of the limiter's own.
// A program around the limiter may have named an origin: a script that sends
// credentials needs its own there.
func allowOrigins(h http.Header) {
	if h.Get(headers.AllowOrigin) == "" {
		h.Set(headers.AllowOrigin, "*")
	}
	headers.Expose(h)
}

// problemDenial returns an answer of problem details that names no rule.
func problemDenial(status int, p headers.Problem) headers.Denial {
	return headers.Denial{Status: status, ContentType: headers.ProblemType, Body: headers.ProblemBody(status, p, "")}
}

// write answers with a status and a body. The client may have hung up, so errors
// are of no use.
func write(w http.ResponseWriter, d headers.Denial) {
	w.Header().Set("Content-Type", d.ContentType)
	w.WriteHeader(d.Status)
	_, _ = io.WriteString(w, d.Body)
}
