package bench

import (
	"net/http"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
)

// Tollbooth gives each client a bucket of 100 tokens, filled at 100 a minute.
func Tollbooth(next http.Handler) (http.Handler, error) {
	lim := tollbooth.NewLimiter(100.0/60, &limiter.ExpirableOptions{DefaultExpirationTTL: time.Hour})
	lim.SetBurst(100).SetIgnoreURL(true)
	return tollbooth.HTTPMiddleware(lim)(next), nil
}
