package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

const corrected = `
rules:
  - {name: work, when: {path: /work}, key: all, limits: [{capacity: 3, window: 1h}], refund_on: [5xx]}
  - name: chat
    when: {path: /chat}
    key: all
    limits: [{capacity: 1000, window: 1h, cost: {from: header.x-tokens, min: 1, max: 400, settle: true}}]
`

// slow is a backend that signals each request, and waits before it answers.
// /chat streams a header, a part of the body, and the true cost as a trailer.
type slow struct{ reached, goOn chan struct{} }

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Quick") != "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	if r.URL.Path == "/chat" {
		w.Header().Set("Trailer", "Slidegate-Cost")
		_, _ = io.WriteString(w, "once upon a time")
		_ = http.NewResponseController(w).Flush()
	}
	s.reached <- struct{}{}
	select {
	case <-s.goOn:
	case <-r.Context().Done():
	}
	w.Header().Set("Slidegate-Cost", "chat=900")
}

// TestHangingUp: clients that hang up before the end of the answer get no
// refund, and are charged the maximum cost of their request.
func TestHangingUp(t *testing.T) {
	for path, test := range map[string]struct{ hungUp int }{
		"/work": {3}, // three are charged, and a fourth is denied
		"/chat": {2}, // each costs the maximum of 400, not the stated 1: a third is denied
	} {
		t.Run(path, func(t *testing.T) {
			behind := &slow{make(chan struct{}), make(chan struct{})}
			backend := httptest.NewServer(behind)
			defer backend.Close()
			address, err := url.Parse(backend.URL)
			if err != nil {
				t.Fatal(err)
			}
			finished := make(chan struct{})
			inner := gateway.New(gateway.Options{Decider: newDecider(t, corrected, atNow, quiet), Backend: address, Log: quiet})
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { finished <- struct{}{} }() // also after a panic
				inner.ServeHTTP(w, r)
			}))
			defer front.Close()

			for range test.hungUp {
				ctx, hangUp := context.WithCancel(t.Context())
				req, _ := http.NewRequestWithContext(ctx, "POST", front.URL+path, nil)
				req.Header.Set("X-Tokens", "1")
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					if answer, err := front.Client().Do(req); err == nil {
						_, _ = io.Copy(io.Discard, answer.Body)
						answer.Body.Close()
					}
				}()
				<-behind.reached
				hangUp()
				<-gone
				<-finished
			}
			req, _ := http.NewRequestWithContext(t.Context(), "POST", front.URL+path, nil)
			req.Header.Set("X-Quick", "1")
			req.Header.Set("X-Tokens", "400")
			go func() { <-finished }()
			answer, err := front.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusTooManyRequests {
				t.Errorf("after %d clients that hung up, the next is answered %d", test.hungUp, answer.StatusCode)
			}
		})
	}
}
