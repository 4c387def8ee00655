package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestInvalidTrailers announces trailers with invalid names. That is no failure
// of the backend, and causes no refund.
func TestInvalidTrailers(t *testing.T) {
	f := serveBefore(t, "rules: [{name: all, key: all, limits: [{capacity: 2, window: 1h}], refund_on: [5xx]}]", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	for i, want := range []string{"HTTP/1.1 200 ", "HTTP/1.1 200 ", "HTTP/1.1 429 "} {
		answer := exchange(t, f.address, "POST / HTTP/1.1\nHost: x\nTrailer: a b\nConnection: close\nTransfer-Encoding: chunked\n\n0\n\n")
		if !strings.HasPrefix(answer, want) {
			t.Errorf("request %d is answered\n%s", i, answer)
		}
	}
	if strings.Contains(f.logged(), "backend failed") {
		t.Errorf("logged %s", f.logged())
	}
}

// TestPathsAreReadAsSent: the rules see a path before net/http encodes what a URL
// must not contain.
func TestPathsAreReadAsSent(t *testing.T) {
	f := serveBefore(t, "rules: [{name: all, when: {path: /**}, key: all, limits: [{capacity: 9, window: 1h}]}]", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "at "+r.URL.EscapedPath())
	})
	for target, want := range map[string]string{
		"/a#b": "#ambiguous-path", "http://x/a#b": "#ambiguous-path", "/a%2Fb<": "#ambiguous-path", "/a%3Fb": "#ambiguous-path",
		"/a%23b": "at /a%23b", "/a<": "at /a%3C", "/a%3C": "at /a%3C", "/a%2Ab": "at /a%2Ab", "/": "at /",
	} {
		if answer := exchange(t, f.address, "GET "+target+" HTTP/1.1\nHost: x\nConnection: close\n\n"); !strings.Contains(answer, want) {
			t.Errorf("%s is answered\n%s", target, answer)
		}
	}
}

// TestFailuresAreLoggedOnce: a flood of requests to a backend that is down, or breaks
// off its answers, causes one line.
func TestFailuresAreLoggedOnce(t *testing.T) {
	for want, begin := range map[string]func(http.ResponseWriter){
		"backend failed": func(http.ResponseWriter) {},
		"an answer broke off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
		},
	} {
		f := serveBefore(t, "rules: [{name: all, key: all, limits: [{capacity: 1000, window: 1h}], refund_on: [5xx]}]", func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			panic(http.ErrAbortHandler)
		})
		for range 50 {
			exchange(t, f.address, "GET / HTTP/1.1\nHost: x\nConnection: close\n\n")
		}
		f.handled.Wait()
		if logged := f.logged(); strings.Count(logged, "\n") != 1 || !strings.Contains(logged, want) || strings.Contains(logged, "suppressed") {
			t.Errorf("logged %s, want %s", logged, want)
		}
	}
}
