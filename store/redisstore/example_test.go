package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store/redisstore"
)

// address is that of the server of TestExample.
var address = "localhost:6379"

// A limiter in memory moves to Redis by one option.
func Example() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
	defer client.Close()
	lim, err := slidegate.New(
		slidegate.SlidingWindow(2, time.Minute),
		slidegate.WithName("api"),
		slidegate.WithStore(redisstore.New(client)), // without this line it counts in memory
	)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		res, err := lim.Allow(ctx, "user:7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Allowed, res.Remaining)
	}
	// Prints:
	// true 1
	// true 0
	// false 0
}
