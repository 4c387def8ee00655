// Command outbound calls an API that takes one request in 20 ms, and keeps to
// that, so that no call is refused.
//
//	go run ./examples/outbound
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

func main() {
	theirs, err := slidegate.New(slidegate.TokenBucket(10, 200*time.Millisecond, 2))
	if err != nil {
		log.Fatal(err)
	}
	api := httptest.NewServer(limithttp.Middleware(theirs)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer api.Close()
	ours, err := slidegate.New(slidegate.LeakyBucket(10, 210*time.Millisecond, 100))
	if err != nil {
		log.Fatal(err)
	}
	client, statuses := http.Client{Transport: &limithttp.Transport{Limiter: ours}}, map[int]int{}
	for range 10 {
		response, err := client.Get(api.URL)
		if err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
		statuses[response.StatusCode]++
	}
	fmt.Println("answers by status:", statuses)
}
