package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// proxy passes requests on to a backend, and adds the decision's fields to its
// answers. log is a throttled one.
func proxy(backend *url.URL, log *slog.Logger) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.SetXForwarded()
			confine(r.Out)
		},
		ModifyResponse: func(response *http.Response) error {
			w := recorderOf(response.Request)
			if response.StatusCode == http.StatusSwitchingProtocols {
				w.record(response.StatusCode, response.Header) // ReverseProxy hijacks the connection, past the recorder
			}
			addFields(response.Header, w.decision)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			switch {
			case r.Context().Err() != nil:
				abort() // the backend did not fail, so nothing is refunded
			case errors.Is(err, errBrokenUpload):
				recorderOf(r).aborted = true
				http.Error(w, "the request's body breaks off", http.StatusBadRequest)
			default:
				log.ErrorContext(r.Context(), "backend failed", "backend", backend.Redacted(), "error", err)
				http.Error(w, "the backend does not answer", http.StatusBadGateway)
			}
		},
		ErrorLog: stdlog.New(errorLog{log}, "", 0),
	}
}

// confine removes the parts of a request that the rules cannot limit. A target
// such as "x:http://elsewhere/admin" has no path, and would be passed on
// unchanged. A client may upgrade to WebSocket only: over HTTP/2 it could send
// any number of requests past the rules.
func confine(out *http.Request) {
	out.URL.Opaque = ""
	out.Trailer = nil // net/http does not check the names, and API Gateway passes none on
	if !strings.EqualFold(out.Header.Get("Upgrade"), "websocket") {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
		out.Header.Del("Http2-Settings")
	}
	if out.Body != nil {
		out.Body = upload{out.Body}
	}
}

// abort ends a request whose client has hung up. Returning instead would send
// status 200 to a client that only stopped sending.
func abort() { panic(http.ErrAbortHandler) }

// errBrokenUpload is the error of a client that does not send its whole request.
var errBrokenUpload = errors.New("the client's body")

// upload is the body of a request. It marks the errors of a client that does not
// send the whole body, so that they differ from a backend's errors.
type upload struct{ io.ReadCloser }

func (u upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, fmt.Errorf("%w: %w", errBrokenUpload, err)
}

// errorLog logs the free text that net/http writes, as lines of one kind.
type errorLog struct{ log *slog.Logger }

func (l errorLog) Write(text []byte) (int, error) {
	l.log.Warn("an answer broke off", "detail", string(bytes.TrimSpace(text)))
	return len(text), nil
}
