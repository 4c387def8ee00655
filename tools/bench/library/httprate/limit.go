// Package httprate limits a handler with go-chi/httprate.
package httprate

import (
	"net"
	"net/http"
	"time"

	"github.com/go-chi/httprate"
)

// Limit lets each client send about 100 requests a minute, by two counters.
func Limit(next http.Handler) (http.Handler, error) {
	return httprate.LimitBy(100, time.Minute, func(r *http.Request) (string, error) {
		ip, _, err := net.SplitHostPort(r.RemoteAddr)
		return httprate.CanonicalizeIP(ip), err
	})(next), nil
}
