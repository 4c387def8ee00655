package usage

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// Endpoint is a path that answers callers with their usage. A nil Endpoint has
// no path.
type Endpoint struct {
	Path   string
	Report func(*http.Request) (*Report, error)
	Log    *slog.Logger // of reports that fail; it is throttled
}

// Serve answers a GET or HEAD request for the endpoint's path, as it was sent. It
// reports false for all other requests, and for callers who are refused: these are
// decided and answered as any request, so that guessing credentials is limited
// here too.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request) (served bool) {
	if e == nil || r.URL.EscapedPath() != e.Path || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	report, err := e.Report(r)
	if errors.Is(err, ErrRefused) {
		return false
	}
	if err != nil && r.Context().Err() == nil {
		e.Log.ErrorContext(r.Context(), "cannot report a caller's usage", "error", err)
	}
	Write(w, report, err)
	return true
}

// Link points denied callers to the usage path.
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
		w.Header().Set("Content-Type", headers.ProblemType)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, headers.ProblemBody(http.StatusServiceUnavailable, headers.ReducedCapacity, ""))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(report) // the client may have hung up
}
