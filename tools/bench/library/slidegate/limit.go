// Package slidegate limits a handler with Slidegate.
package slidegate

import (
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

// Limit lets each client send 100 requests in any minute.
func Limit(next http.Handler) (http.Handler, error) {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		return nil, err
	}
	return limithttp.Middleware(lim, limithttp.ByIP())(next), nil
}
