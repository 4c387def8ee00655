// Command http limits each client of a web server to 5 requests in 10 seconds.
//
//	go run ./examples/http &
//	for i in $(seq 6); do curl -si http://127.0.0.1:8080/ | head -1; done
package main

import (
	"cmp"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

func main() {
	lim, err := slidegate.New(slidegate.SlidingWindow(5, 10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	http.Handle("/", limithttp.Middleware(lim, limithttp.ByIP())(hello))
	log.Fatal(http.ListenAndServe(cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"), nil))
}
