package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestCostsAreHidden: clients do not see costs, wherever a backend puts them. The
// gateway logs a misspelled name of a limit.
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
			w.Header().Set("Slidegate-Cost", "al=2")
			w.Header().Set(http.TrailerPrefix+"Slidegate-Cost", "all=3")
		})
	for _, line := range []string{"GET /early", "GET /announced", "GET /alone", "GET /", "OPTIONS /", "OPTIONS /early", "OPTIONS /announced"} {
		answer := exchange(t, f.address, line+" HTTP/1.1\nHost: x\nConnection: close\nTe: trailers\n\n")
		if !strings.Contains(answer, "body") || strings.Contains(answer, "Slidegate-Cost") || strings.Contains(answer, "X-Other") != strings.Contains(line, "announced") {
			t.Errorf("%s is answered\n%s", line, answer)
		}
	}
	f.handled.Wait()
	if logged := f.logged(); strings.Count(logged, "\n") != 1 || !strings.Contains(logged, "field=Slidegate-Cost ignored=[al] limits=[all]") {
		t.Errorf("logged %q", logged)
	}
}
