// Package httplimit limits requests in front of an http.Handler: it asks for a
// decision, answers denied requests, and corrects the charge of allowed ones by
// the handler's answer.
package httplimit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/kit/clock"
)

// Handler limits the requests to another handler.
type Handler struct {
	// Decide decides a request. An error means that there is no decision;
	// engine.ErrUnauthorized is answered by status 401.
	Decide func(*http.Request) (*engine.Decision, error)
	// Occupy keeps the places in flight of an allowed request until Finish. It returns
	// the context to work under, if there are any.
	Occupy func(context.Context, *engine.Decision) (work context.Context, occupied bool)
	// Finish corrects the charge of an allowed request by its outcome. malformed
	// are members of the answer's costs that cannot be parsed.
	Finish func(ctx context.Context, d *engine.Decision, o *engine.Outcome, malformed []string)
	// PassCosts shows clients the field of the costs, because no limit settles.
	PassCosts bool
	// Skip reports whether a request is not limited; nil for none.
	Skip func(*http.Request) bool
	// Denied writes the answer to a denied request, whose fields are set; nil
	// writes what the rules document says, by default problem details with
	// status 429, 403 for a ban or no rule, or 400 for an ambiguous path.
	Denied func(http.ResponseWriter, *http.Request, *engine.Decision)
	// MaxDelay bounds how long a request waits for its turn in a leaky bucket. A
	// delay that is longer, or that the request's context would not outlive, denies
	// it.
	MaxDelay time.Duration
	Log      *slog.Logger // of requests without a decision; it is throttled
	Next     http.Handler
	// Usage answers callers at a path of its own, before Skip; nil for none.
	Usage *usage.Endpoint
}

// ServeHTTP limits a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.Usage.Serve(w, r) {
		return
	}
	if h.Skip != nil && h.Skip(r) {
		h.Next.ServeHTTP(w, r)
		return
	}
	d, err := h.Decide(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer := headers.Describe(d)
	if d.Allowed && (d.Delay > h.MaxDelay || clock.EndsBefore(r.Context(), d.Delay)) {
		d.Allowed, answer = false, answer.TooLong()
		h.Finish(r.Context(), d, &engine.Outcome{}, nil) // gives back places; the charge stays, as below
	}
	SetFields(w.Header(), &answer)
	if !d.Allowed && d.Reason == engine.Limited {
		h.Usage.Link(w.Header())
	}
	switch {
	case !d.Allowed && h.Denied != nil:
		discardRest(w, r)
		allowOrigins(w.Header())
		h.Denied(w, r, d)
	case !d.Allowed:
		refuse(w, r, answer.DenialFor(r.Header))
	default:
		h.pass(w, r, d)
	}
}

// pass lets the next handler answer when it is the request's turn, and corrects
// the charge by the answer, also after a panic.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, d *engine.Decision) {
	if work, occupied := h.Occupy(r.Context(), d); occupied {
		r = r.WithContext(work)
	}
	if err := clock.Sleep(r.Context(), d.Delay); err != nil {
		h.fail(w, r, err) // the charge stays: a flood that hangs up would make two writes for each request
		h.Finish(r.Context(), d, &engine.Outcome{}, nil)
		return
	}
	observe(w, r, h.Next, headers.Expose, h.PassCosts, func(o *engine.Outcome, malformed []string) {
		h.Finish(r.Context(), d, o, malformed)
	})
}

// observe lets the next handler answer, and finishes with the outcome, also after
// a panic. Once the answer has a status, head may change its header.
func observe(
	w http.ResponseWriter, r *http.Request, next http.Handler, head func(http.Header), passCosts bool, finish func(*engine.Outcome, []string),
) {
	recorder, whole := NewRecorder(w, r, head), false
	recorder.PassCosts = passCosts
	defer func() {
		o, malformed := recorder.Outcome()
		o.Aborted = o.Aborted || !whole || r.Context().Err() != nil
		finish(o, malformed)
	}()
	next.ServeHTTP(recorder.Writer(), r)
	recorder.End()
	whole = true
}

// fail answers a request that was not decided, or that waited for its turn until
// its context ended. One whose client has hung up needs no line in the log.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, engine.ErrUnauthorized) {
		w.Header()["WWW-Authenticate"] = []string{headers.InvalidToken} // which Set would spell in another way
		unauthorized := headers.Answer{Problem: headers.Unauthorized}
		refuse(w, r, unauthorized.DenialFor(r.Header))
		return
	}
	if r.Context().Err() == nil {
		h.Log.ErrorContext(r.Context(), "no decision", "error", err)
	}
	w.Header().Set("Retry-After", "1")
	refuse(w, r, problemDenial(http.StatusServiceUnavailable, headers.ReducedCapacity))
}
