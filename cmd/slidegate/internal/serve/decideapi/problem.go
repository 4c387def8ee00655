package decideapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// problem is an answer without a decision, as problem details of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Pointer is the place in the request's body, as a JSON Pointer.
	Pointer *string `json:"pointer,omitempty"`
}

func newProblem(status int, format string, args ...any) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

func badRequest(pointer, detail string) *problem {
	p := newProblem(http.StatusBadRequest, "%s", detail)
	p.Pointer = &pointer
	return p
}

func wrongMethod(w http.ResponseWriter, allowed, sent string) *problem {
	w.Header().Set("Allow", allowed)
	return newProblem(http.StatusMethodNotAllowed, "this endpoint takes %s, and the request is %.20q", allowed, sent)
}

// noDecision is the answer if the engine has failed. The log says why.
func noDecision() *problem {
	p := newProblem(http.StatusServiceUnavailable, "there is no decision: the log of slidegate says why")
	p.Type, p.Title = headers.ReducedCapacity.Type, headers.ReducedCapacity.Title
	return p
}

func (p *problem) write(w http.ResponseWriter) {
	body, _ := json.Marshal(p) // texts and a number
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeBody(w, p.Status, headers.ProblemType, string(body)+"\n")
}

func writeBody(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may have hung up
}
