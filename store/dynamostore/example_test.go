package dynamostore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/store/dynamostore"
)

// table is the one of TestExample.
var table = "counters"

// A limiter in memory moves to DynamoDB by one option.
func Example() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	store := dynamostore.New(dynamodb.NewFromConfig(cfg), table)
	if err := store.CreateTable(ctx); err != nil {
		log.Fatal(err)
	}
	lim, err := slidegate.New(
		slidegate.SlidingWindow(2, time.Minute),
		slidegate.WithName("api"),
		slidegate.WithStore(store), // without this line it counts in memory
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
