package rulestable_test

import (
	"context"
	"log"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulestable"
	"github.com/slidegate/slidegate/limithttp"
)

// A server limits requests by published rules. It counts in memory; WithStore of
// package dynamostore shares the counters of all servers.
func Example() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	g, err := gate.New(rulestable.Open(dynamodb.NewFromConfig(cfg), "rules"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(":8080", limithttp.GateMiddleware(g)(http.FileServer(http.Dir(".")))))
}
