package decideapi

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/request"
)

// maxBody bounds the body of a request. API Gateway takes 10 KB of fields.
const maxBody = 64 << 10

// decision is the answer of POST /v1/decisions.
type decision struct {
	Allowed  bool   `json:"allowed"`
	Reason   string `json:"reason"`
	Degraded bool   `json:"degraded"`
	// Rule and the three below are those of the tightest limit; absent if no
	// limit was counted.
	Rule       string      `json:"rule,omitempty"`
	Capacity   json.Number `json:"capacity,omitempty"`
	Remaining  json.Number `json:"remaining,omitempty"`
	Reset      json.Number `json:"reset_s,omitempty"`
	RetryAfter json.Number `json:"retry_after_s"`
	Delay      float64     `json:"delay_s"`
	// Headers are the fields for the answer to the client.
	Headers map[string]string `json:"headers"`
	Status  int               `json:"status,omitempty"` // of the answer to a denied request
	Body    string            `json:"body,omitempty"`   // of the answer to a denied request
}

// decideJSON answers POST /v1/decisions.
func (s *Server) decideJSON(w http.ResponseWriter, r *http.Request) {
	req := s.stated(w, r)
	if req == nil {
		return
	}
	a, reason, p := s.decide(r.Context(), req)
	if p != nil {
		p.write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(describe(&a, reason)) // the client may have hung up
}

// stated returns the request that a program states as JSON. It returns nil if
// that cannot be read, or the program may not ask, and has answered then.
func (s *Server) stated(w http.ResponseWriter, r *http.Request) *request.Request {
	if !s.admits(w, r, false) {
		return nil
	}
	body, p := readBody(w, r)
	if p == nil {
		var req *request.Request
		if req, p = readRequest(body); p == nil {
			return req
		}
	}
	p.write(w)
	return nil
}

// readBody reads the body of a request with JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	if r.Method != http.MethodPost {
		return nil, wrongMethod(w, http.MethodPost, r.Method)
	}
	sent := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(sent); err != nil || kind != "application/json" {
		return nil, newProblem(http.StatusUnsupportedMediaType, "Content-Type is %.60q: write application/json", sent)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, newProblem(http.StatusRequestEntityTooLarge,
			"the body is larger than %d bytes: leave out headers and claims that the rules do not read", maxBody)
	}
	if err != nil {
		return nil, newProblem(http.StatusBadRequest, "the body breaks off")
	}
	return body, nil
}

// describe returns a decision as JSON.
func describe(a *headers.Answer, reason string) *decision {
	d := &decision{
		Allowed: a.Allowed, Reason: reason, Degraded: a.Degraded, Rule: a.Rule,
		Capacity: json.Number(a.Limit), Remaining: json.Number(a.Remaining), Reset: json.Number(a.Reset),
		RetryAfter: json.Number(a.RetryAfter), Delay: a.Delay.Seconds(), Headers: map[string]string{},
	}
	switch {
	case a.Allowed:
		d.RetryAfter = "0"
	case a.RetryAfter == "":
		d.RetryAfter = "-1" // waiting does not help
	}
	for field := range a.Fields() {
		d.Headers[field.Name] = field.Value
	}
	if !a.Allowed {
		denial := a.Denial()
		d.Status, d.Body = denial.Status, denial.Body
		d.Headers["Content-Type"] = denial.ContentType
	}
	if reason == unauthorized {
		d.Headers["WWW-Authenticate"] = headers.InvalidToken
	}
	return d
}
