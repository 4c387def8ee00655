// Command grpc limits the calls of each client of a gRPC server to two a minute.
// It calls itself three times, and prints what the client gets.
//
//	cd limitgrpc && go run ./example
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limitgrpc"
)

func main() {
	lim, err1 := slidegate.New(slidegate.SlidingWindow(2, time.Minute))
	listener, err2 := net.Listen("tcp", "127.0.0.1:0")
	server := grpc.NewServer(grpc.UnaryInterceptor(limitgrpc.UnaryServerInterceptor(lim)))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	conn, err3 := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err1 != nil || err2 != nil || err3 != nil {
		log.Fatal(err1, err2, err3)
	}
	for range 3 {
		_, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		fmt.Println(status.Code(err))
	}
}
