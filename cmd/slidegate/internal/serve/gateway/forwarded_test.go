package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// TestForwarded: the backend gets the addresses that rules read, with the
// peer's appended, and no Accept-Encoding that the client did not send.
func TestForwarded(t *testing.T) {
	got := http.Header{}
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer backend.Close()
	to, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	handler := gateway.New(gateway.Options{Decider: newDecider(t, "rules: []", atNow, quiet), Backend: to, Log: quiet})
	for sent, want := range map[string]string{"": "192.0.2.1", "203.0.113.9, 198.51.100.2": "203.0.113.9, 198.51.100.2, 192.0.2.1"} {
		r := httptest.NewRequest("GET", "/", nil)
		if sent != "" {
			r.Header.Set("X-Forwarded-For", sent)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK || got.Get("X-Forwarded-For") != want || got.Get("Accept-Encoding") != "" {
			t.Errorf("X-Forwarded-For %q: status %d, the backend got %v; want %q", sent, w.Code, got, want)
		}
	}
}
