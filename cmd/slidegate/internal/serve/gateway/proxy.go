package gateway

import (
	"bytes"
	"errors"
	stdlog "log"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/decide/headers"
)

// proxy passes requests on to a backend, and adds the decision's fields to its
// answers. log is a throttled one.
func proxy(backend *url.URL, transport http.RoundTripper, log *slog.Logger) http.Handler {
	passing := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] // SetXForwarded appends the peer, as API Gateway does
			r.SetXForwarded()
			confine(r.Out)
		},
		ModifyResponse: func(response *http.Response) error {
			w := recorderOf(response.Request)
			if response.StatusCode == http.StatusSwitchingProtocols {
				w.Record(response.StatusCode, response.Header) // ReverseProxy hijacks the connection, past the recorder
			}
			addFields(response.Header, w.decision)
			headers.Expose(response.Header)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			status, message := failure(err)
			if r.Context().Err() != nil && status != http.StatusRequestTimeout {
				abort() // the backend did not fail, so nothing is refunded
			}
			addCORS(w.Header())
			if recorderOf(r).aborted = errors.Is(err, errBrokenUpload); !recorderOf(r).aborted {
				log.ErrorContext(r.Context(), "backend failed", "backend", backend.Redacted(), "error", err)
			}
			http.Error(w, message, status)
		},
		ErrorLog: stdlog.New(errorLog{log}, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { passing.ServeHTTP(w, keepFields(r)) })
}

// failure returns the answer to a request that the backend has not answered.
func failure(err error) (status int, message string) {
	switch {
	case errors.Is(err, errBrokenUpload) && errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, "the request's body takes too long"
	case errors.Is(err, errBrokenUpload):
		return http.StatusBadRequest, "the request's body breaks off"
	case errors.Is(err, errSlowBackend):
		return http.StatusGatewayTimeout, "the backend does not answer in time"
	}
	return http.StatusBadGateway, "the backend does not answer"
}

var ownField = regexp.MustCompile(`(?i)^slidegate[^a-z0-9]`)

// keepFields returns the request without the names of fields in Connection.
// ReverseProxy removes the fields that it names, but rules have read them: the
// backend gets what the rules saw. It does not get the fields of Slidegate's own,
// such as a receipt, which clients can only make up. Backends of CGI may take any
// other character than letters and digits for a hyphen.
func keepFields(r *http.Request) *http.Request {
	named := strings.Split(strings.Join(r.Header["Connection"], ","), ",")
	kept := r.WithContext(r.Context())
	kept.Header = r.Header.Clone()
	kept.Header.Del("Connection")
	maps.DeleteFunc(kept.Header, func(name string, _ []string) bool {
		return ownField.MatchString(name)
	})
	for _, name := range named {
		if strings.EqualFold(textproto.TrimString(name), "upgrade") {
			kept.Header.Set("Connection", "Upgrade")
		}
	}
	return kept
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
}

// abort ends a request whose client has hung up. Returning instead would send
// status 200 to a client that only stopped sending.
func abort() { panic(http.ErrAbortHandler) }

// errorLog logs the free text that net/http writes, as lines of one kind.
type errorLog struct{ log *slog.Logger }

func (l errorLog) Write(line []byte) (int, error) {
	l.log.Warn("an answer broke off", "detail", string(bytes.TrimSpace(line)))
	return len(line), nil
}
