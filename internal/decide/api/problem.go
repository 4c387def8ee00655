package api

import (
	"fmt"
	"net/http"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// Problem is an answer without a result, as problem details of RFC 9457.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Pointer is the place in what was sent, as a JSON Pointer.
	Pointer *string `json:"pointer,omitempty"`
}

// NewProblem returns a problem that its status describes.
func NewProblem(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// JSON returns the problem as the body of an answer.
func (p *Problem) JSON() []byte { return encode(p) }

func badRequest(pointer, detail string) *Problem {
	p := NewProblem(http.StatusBadRequest, "%s", detail)
	p.Pointer = &pointer
	return p
}

// unavailable is the answer if rules or counters cannot be reached now.
func unavailable(detail string) *Problem {
	p := NewProblem(http.StatusServiceUnavailable, "%s", detail)
	p.Type, p.Title = headers.ReducedCapacity.Type, headers.ReducedCapacity.Title
	return p
}
