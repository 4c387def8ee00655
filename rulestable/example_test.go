package rulestable_test

import (
	"context"
	"log"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/rulestable"
)

// A server limits requests by published rules. It counts in memory; WithStore of
// package dynamostore shares the counters of all servers.
func Example() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	gate, err := slidegate.NewGate(rulestable.New(dynamodb.NewFromConfig(cfg), "rules"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(":8080", gate.Middleware()(http.FileServer(http.Dir(".")))))
}
