package bench

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// XTimeRate gives each client a bucket of 100 tokens, filled at 100 a minute.
func XTimeRate(next http.Handler) (http.Handler, error) {
	c := clients{byAddress: map[string]*rate.Limiter{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
			host = ip.Mask(net.CIDRMask(64, 128)).String()
		}
		lim := c.of(host)
		allowed := lim.Allow()
		w.Header().Set("X-RateLimit-Limit", "100")
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(0, int(lim.Tokens()))))
		if !allowed {
			w.Header().Set("Retry-After", "1") // the next token takes 600 ms
			http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// clients are the limiters of clients that were active in the last minute or
// two. A limiter whose bucket is full can go.
type clients struct {
	mu        sync.Mutex
	byAddress map[string]*rate.Limiter
	swept     time.Time
}

func (c *clients) of(address string) *rate.Limiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.swept) > time.Minute {
		for a, lim := range c.byAddress {
			if lim.Tokens() >= 100 {
				delete(c.byAddress, a)
			}
		}
		c.swept = time.Now()
	}
	lim, ok := c.byAddress[address]
	if !ok {
		lim = rate.NewLimiter(rate.Every(time.Minute/100), 100)
		c.byAddress[address] = lim
	}
	return lim
}
