package bench

import (
	"net"
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

// HTTPRate lets each client send about 100 requests a minute, by two counters.
func HTTPRate(next http.Handler) (http.Handler, error) {
	return httprate.LimitBy(100, time.Minute, func(r *http.Request) (string, error) {
		ip, _, err := net.SplitHostPort(r.RemoteAddr)
		return httprate.CanonicalizeIP(ip), err
	})(next), nil
}
