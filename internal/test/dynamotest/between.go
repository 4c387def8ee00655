package dynamotest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"
)

// Between stands between the local AWS and what calls it from now on. It shows each
// call with its body to a function, which reports whether it has answered the call.
func Between(t testing.TB, see func(w http.ResponseWriter, r *http.Request, body []byte) (answered bool)) {
	t.Helper()
	to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !see(w, r, body) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("AWS_ENDPOINT_URL", proxy.URL)
}
