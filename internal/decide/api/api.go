// Package api answers programs in any language with JSON: decisions, settlements,
// renewals and usage. Servers hand it a body and pass its answer on. HTTP has a path
// for each call, and Lambda's Invoke has one payload for all: an object whose only
// member is named by the call, with the body of HTTP as its value.
//
//	{"decisions": {"method": "POST", "path": "/v1/chat", "ip": "203.0.113.9"}}
//	{"settlements": {"receipt": "AgEx…", "costs": {"chat.tokens": 812}}}
//
// The answer has the status and the body that HTTP would have:
//
//	{"status": 200, "body": {"allowed": true, …}}
//
// A denial is a decision with status 200. Other statuses have problem details (RFC
// 9457) as their body. Their pointer is a place in the payload.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// The calls.
const (
	Decisions   = "decisions"
	Settlements = "settlements"
	Renewals    = "renewals"
	Usage       = "usage"
)

// MaxBody bounds a body, in bytes. API Gateway takes 10 KB of fields.
const MaxBody = 64 << 10

// Decider decides requests. engine.ErrUnauthorized says that the credentials of
// an allowed request are not valid.
type Decider interface {
	DecideRequest(ctx context.Context, r *request.Request) (*engine.Decision, error)
	// Authenticate adds to a request what its credentials prove.
	Authenticate(ctx context.Context, r *request.Request) error
	// Finish closes what a decision has opened, if its request does not go on.
	Finish(ctx context.Context, of *engine.Decision, o *engine.Outcome)
}

// API answers calls. It is safe for concurrent use once its fields are set.
type API struct {
	Calls []string // that it answers

	Decider Decider // of decisions and usage
	Usage   func(context.Context, *request.Request) (*usage.Report, error)

	Keys     receipt.Keys // sign and verify receipts; without them there are none
	Store    limit.Store  // that settles
	Now      func() time.Time
	Observer engine.Observer // of the store's calls

	Log  *slog.Logger // which throttles repeated lines, of each rule for itself
	told sync.Map     // has the names of rules that have no receipts, once they are logged
}

// Answer answers a call with a status, and a JSON document as the body.
func (a *API) Answer(ctx context.Context, name string, body []byte) (status int, answer []byte) {
	members, p := readObject(body)
	return a.answer(ctx, name, members, "", p)
}

var calls = map[string]func(*API, context.Context, *fields) (any, *Problem){
	Decisions: (*API).decide, Settlements: (*API).settle, Renewals: (*API).renew, Usage: (*API).usage,
}

// answer answers a call, unless there is a problem already. at is the place of its
// members in what was sent.
func (a *API) answer(ctx context.Context, name string, members map[string]any, at string, p *Problem) (status int, answer []byte) {
	do := calls[name]
	var value any
	switch {
	case p != nil:
	case do == nil || !slices.Contains(a.Calls, name):
		p = NewProblem(http.StatusNotFound, "there is no call %.40q here: the calls are %s", name, strings.Join(a.Calls, ", "))
	default:
		value, p = do(a, ctx, &fields{object: members, names: make([]string, 0, 16)})
	}
	if p == nil {
		return http.StatusOK, encode(value)
	}
	if p.Pointer != nil {
		*p.Pointer = at + *p.Pointer
	}
	return p.Status, p.JSON()
}

// Invoke answers the payload of an invocation.
func (a *API) Invoke(ctx context.Context, payload []byte) []byte {
	var answer struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body"`
	}
	object, p := readObject(payload)
	var call, at string
	var members map[string]any
	for name, body := range object {
		call, at = name, "/"+request.EscapePointer(name)
		members, _ = body.(map[string]any)
	}
	if p == nil && (len(object) != 1 || members == nil) {
		at, p = "", badRequest("", `want an object with one member, named by the call, whose value is an object: {"decisions": {"method": "GET", …}}`)
	}
	answer.Status, answer.Body = a.answer(ctx, call, members, at, p)
	return encode(answer)
}

func encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // texts and numbers
	return b.Bytes()
}
