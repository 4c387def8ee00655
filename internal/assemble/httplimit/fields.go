package httplimit

import (
	"io"
	"net/http"
	"time"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// Deny writes the answer to a denied request.
func Deny(w http.ResponseWriter, a *headers.Answer) {
	SetFields(w.Header(), a)
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

// Answer answers with problem details that name no rule.
func Answer(w http.ResponseWriter, status int, p headers.Problem) { write(w, problemDenial(status, p)) }

func problemDenial(status int, p headers.Problem) headers.Denial {
	return headers.Denial{Status: status, ContentType: headers.ProblemType, Body: headers.ProblemBody(status, p, "")}
}

// refuse answers a request in place of the next handler. It discards the rest of
// the request without waiting for it, so that a denied client holds no resources.
// The connection closes after the answer: otherwise the rest would be read as the
// next request.
func refuse(w http.ResponseWriter, r *http.Request, d headers.Denial) {
	discardRest(w, r)
	write(w, d)
}

// restTime bounds how long the rest of a denied request may take.
const restTime = 5 * time.Second

func discardRest(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor != 1 {
		return
	}
	connection := http.NewResponseController(w)
	_ = connection.EnableFullDuplex() // in tests there may be no connection
	_ = connection.SetReadDeadline(time.Now().Add(restTime))
	w.Header().Set("Connection", "close")
}

// write answers with a status and a body, which scripts of every origin may read.
// The client may have hung up, so errors are of no use.
func write(w http.ResponseWriter, d headers.Denial) {
	allowOrigins(w.Header())
	w.Header().Set("Content-Type", d.ContentType)
	w.WriteHeader(d.Status)
	_, _ = io.WriteString(w, d.Body)
}
