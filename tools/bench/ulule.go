package bench

import (
	"net"
	"net/http"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// Ulule lets each client send 100 requests in a minute that starts with its
// first one.
func Ulule(next http.Handler) (http.Handler, error) {
	rate := limiter.Rate{Period: time.Minute, Limit: 100}
	lim := limiter.New(memory.NewStore(), rate, limiter.WithIPv6Mask(net.CIDRMask(64, 128)))
	return stdlib.NewMiddleware(lim).Handler(next), nil
}
