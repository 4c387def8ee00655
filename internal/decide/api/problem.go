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

// TooLarge is the answer to a body above MaxBody.
func TooLarge() *Problem {
	return NewProblem(http.StatusRequestEntityTooLarge,
		"the body is larger than %d bytes: leave out headers and claims that the rules do not read", MaxBody)
}

func noCall(name string) *Problem {
	return NewProblem(http.StatusNotFound, "%.40q is no call that is answered here: the calls are decisions, settlements, renewals and usage", name)
}

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

// refused is the answer about a receipt that settles or renews nothing. Its title
// says what is wrong with the receipt, and the detail what to do.
func refused(name string, status int, title, detail string) *Problem {
	p := NewProblem(status, "%s", detail)
	p.Type, p.Title = "https://github.com/slidegate/slidegate/blob/main/docs/problems.md#receipt-"+name, title
	if status == http.StatusBadRequest {
		p.Pointer = new("/receipt")
	}
	return p
}
