package limitgrpc_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limitgrpc"
)

// A server allows each client 100 calls and streams a minute, and does not count
// health checks.
func Example_server() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	uncounted := limitgrpc.WithCost(func(_ context.Context, fullMethod string) int64 {
		if fullMethod == "/grpc.health.v1.Health/Check" {
			return 0
		}
		return 1
	})
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(limitgrpc.UnaryServerInterceptor(lim, uncounted)),
		grpc.ChainStreamInterceptor(limitgrpc.StreamServerInterceptor(lim, uncounted)),
	)
	defer server.Stop()
}

// A client sends no more than ten calls a second to a service, evenly. Others
// wait for their turn.
func Example_client() {
	lim, err := slidegate.New(slidegate.LeakyBucket(10, time.Second, 100))
	if err != nil {
		log.Fatal(err)
	}
	conn, err := grpc.NewClient("dns:///orders.example.com:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(limitgrpc.UnaryClientInterceptor(lim)),
		grpc.WithChainStreamInterceptor(limitgrpc.StreamClientInterceptor(lim)),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
}

// A handler runs once, and the second call gets a code.
func ExampleUnaryServerInterceptor() {
	lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	byUser := limitgrpc.WithKey(func(ctx context.Context, _ string) string { return userOf(ctx) })
	intercept := limitgrpc.UnaryServerInterceptor(lim, byUser)
	handler := func(context.Context, any) (any, error) { return "3 orders", nil }
	for range 2 {
		answer, err := intercept(context.Background(), "list", &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/List"}, handler)
		fmt.Println(answer, status.Code(err) == codes.ResourceExhausted)
	}
	// Output:
	// 3 orders false
	// <nil> true
}

// userOf stands for what an interceptor before has verified.
func userOf(context.Context) string { return "user:7" }
