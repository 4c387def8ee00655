package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestUnknownCosts: a backend misspells the name of a limit. The gateway logs
// that with the right name.
func TestUnknownCosts(t *testing.T) {
	f := serveBefore(t, `
rules:
  - name: chat
    key: all
    limits:
      - {name: requests, capacity: 100, window: 60s}
      - {name: tokens, capacity: 2000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 500, settle: true}}
`, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Slidegate-Cost", r.URL.Query().Get("cost"))
	})
	for _, cost := range []string{"chat.tokens=5", "chat.token=5", "chat.requests=2,chat.tokens=7"} {
		exchange(t, f.address, "GET /?cost="+cost+" HTTP/1.1\nHost: x\nX-Tokens: 500\nConnection: close\n\n")
	}
	f.handled.Wait()
	logged := f.logged()
	if strings.Count(logged, "\n") != 1 || !strings.Contains(logged, "field=Slidegate-Cost ignored=[chat.token] limits=[chat.tokens]") {
		t.Errorf("logged %q", logged)
	}
	answer := exchange(t, f.address, "GET / HTTP/1.1\nHost: x\nX-Tokens: 1\nConnection: close\n\n")
	if !strings.Contains(answer, `"chat.requests";r=96`) || !strings.Contains(answer, `"chat.tokens";r=1487`) { // all but 5, 500, 7 and 1
		t.Errorf("a misspelled name changed a charge: answered\n%s", answer)
	}
}

// TestCostsAreHidden: clients do not see costs, wherever a backend puts them.
func TestCostsAreHidden(t *testing.T) {
	f := serveBefore(t, "rules: [{name: all, key: all, cost: {from: header.x-tokens, min: 1, max: 4, settle: true}, limits: [{capacity: 100, window: 60s}]}]",
		func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/early":
				w.Header().Set("Slidegate-Cost", "all=2")
				w.WriteHeader(http.StatusEarlyHints)
			case "/announced":
				w.Header().Set("Trailer", "X-Other, Slidegate-Cost")
			case "/alone":
				w.Header().Set("Trailer", "Slidegate-Cost")
			}
			_, _ = io.WriteString(w, "body")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set("X-Other", "7")
			w.Header().Set("Slidegate-Cost", "all=2")
			w.Header().Set(http.TrailerPrefix+"Slidegate-Cost", "all=3")
		})
	for _, line := range []string{"GET /early", "GET /announced", "GET /alone", "GET /", "OPTIONS /", "OPTIONS /early", "OPTIONS /announced"} {
		answer := exchange(t, f.address, line+" HTTP/1.1\nHost: x\nConnection: close\nTe: trailers\n\n")
		if !strings.Contains(answer, "body") || strings.Contains(answer, "Slidegate-Cost") || strings.Contains(answer, "X-Other") != strings.Contains(line, "announced") {
			t.Errorf("%s is answered\n%s", line, answer)
		}
	}
}
