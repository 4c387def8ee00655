package usage

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/slidegate/slidegate/internal/headers"
)

// Endpoint is a path that answers callers with their usage. A nil Endpoint has
// no path.
type Endpoint struct {
	Path   string
	Report func(*http.Request) (*Report, error)
	Log    *slog.Logger // of reports that fail; it is throttled
}

// Serve answers a request for the endpoint's path, as it was sent. It reports
// false for all other requests, for CORS preflights, and for callers who are
// refused: these are decided and answered as any request, so that guessing
// credentials is limited here too.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request) (served bool) {
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if e == nil || r.URL.EscapedPath() != e.Path || preflight {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		problem(w, http.StatusMethodNotAllowed, headers.Problem{Type: "about:blank", Title: http.StatusText(http.StatusMethodNotAllowed)})
		return true
	}
	report, err := e.Report(r)
	if errors.Is(err, ErrRefused) {
		return false
	}
	if err != nil && r.Context().Err() == nil {
		e.Log.ErrorContext(r.Context(), "the usage of a caller is not known", "error", err)
	}
	Write(w, report, err)
	return true
}

// Link adds to an answer to a denied request where its caller finds its usage.
func (e *Endpoint) Link(h http.Header) {
	if e != nil {
		h.Add("Link", "<"+e.Path+`>; rel="related"; title="usage"`)
	}
}

// Write answers with a report or, if there is an error, with status 503.
func Write(w http.ResponseWriter, report *Report, err error) {
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.Header().Set("Retry-After", "1")
		problem(w, http.StatusServiceUnavailable, headers.ReducedCapacity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(report) // the client may have hung up
}

func problem(w http.ResponseWriter, status int, p headers.Problem) {
	w.Header().Set("Content-Type", headers.ProblemType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, headers.ProblemBody(status, p, ""))
}
