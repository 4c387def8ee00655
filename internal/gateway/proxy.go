package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/sparing"
)

// proxy passes requests on to a backend and adds the decision's fields to its answers.
func proxy(backend *url.URL, log *slog.Logger) http.Handler {
	var failures sparing.Line
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.SetXForwarded()
			confine(r.Out)
		},
		ModifyResponse: func(response *http.Response) error {
			if seen := witnessOf(response.Request.Context()); seen != nil && response.StatusCode == http.StatusSwitchingProtocols {
				seen.see(response.StatusCode, response.Header) // it goes around the witness
			}
			addFields(response.Header, decision(response.Request.Context()))
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			var broken *brokenUpload
			switch {
			case r.Context().Err() != nil:
				abandon() // no failure of the backend, and nothing to refund
			case errors.As(err, &broken):
				if seen := witnessOf(r.Context()); seen != nil {
					seen.cut = true
				}
				http.Error(w, "the request's body breaks off", http.StatusBadRequest)
			default:
				if held, ok := failures.Due(time.Now()); ok {
					log.ErrorContext(r.Context(), "backend failed", "backend", backend.Redacted(), "error", err, "held_back", held)
				}
				http.Error(w, "the backend does not answer", http.StatusBadGateway)
			}
		},
		ErrorLog: slog.NewLogLogger(&sparingHandler{Handler: log.Handler()}, slog.LevelWarn),
	}
}

// confine keeps a request to what was judged. A target such as "x:http://elsewhere/admin" has no path, and would be passed on
// as it is. Of the protocols that a connection may be switched to, WebSocket is the one that carries no requests: in HTTP/2
// a client could send any number of them that nobody judges.
func confine(out *http.Request) {
	out.URL.Opaque = ""
	out.Trailer = nil // its names come unchecked, and API Gateway passes none on
	if !strings.EqualFold(out.Header.Get("Upgrade"), "websocket") {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
		out.Header.Del("Http2-Settings")
	}
	if out.Body != nil {
		out.Body = upload{out.Body}
	}
}

// abandon ends a request whose client has hung up. To return would answer 200 to one that has only stopped sending.
func abandon() { panic(http.ErrAbortHandler) }

// upload is the body of a request. It tells a client's failure to send it from a backend's.
type upload struct{ io.ReadCloser }

func (u upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, &brokenUpload{err}
}

type brokenUpload struct{ err error }

func (b *brokenUpload) Error() string { return "the client's body: " + b.err.Error() }
func (b *brokenUpload) Unwrap() error { return b.err }

// sparingHandler logs what a library says of every request, one line in ten seconds.
type sparingHandler struct {
	slog.Handler
	line sparing.Line
}

// Handle logs a record if a line is due.
func (h *sparingHandler) Handle(ctx context.Context, r slog.Record) error {
	held, ok := h.line.Due(time.Now())
	if !ok {
		return nil
	}
	r.AddAttrs(slog.Int("held_back", held))
	return h.Handler.Handle(ctx, r)
}
