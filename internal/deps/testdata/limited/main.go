// Command limited is the server with a limit in memory.
package main

import (
	"log"
	"net/http"
	"time"

	"github.com/slidegate/slidegate"
)

func main() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if res, err := lim.Allow(r.Context(), r.RemoteAddr); err != nil || !res.Allowed {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		http.NotFound(w, r)
	})))
}
