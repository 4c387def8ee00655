// Package bench compares Slidegate with other rate limiters for Go. Each file that
// is no test limits a handler to 100 requests a minute and client with one of
// them. `make bench` runs the benchmarks, beside bare operations that limit
// nothing.
package bench

import (
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

// Slidegate lets each client send 100 requests in any minute.
func Slidegate(next http.Handler) (http.Handler, error) {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		return nil, err
	}
	return limithttp.Middleware(lim, limithttp.ByIP())(next), nil
}
