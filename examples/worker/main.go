// Command worker takes jobs from a queue. Several workers share the work, and
// each customer gets 5 jobs in any 200 ms at most.
//
//	go run ./examples/worker
package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
)

func main() {
	perCustomer, err := slidegate.New(slidegate.SlidingLog(5, 200*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	queue := make(chan string, 30) // of customers
	for i := range 30 {
		queue <- []string{"ann", "bob"}[i%2]
	}
	close(queue)
	start, workers := time.Now(), sync.WaitGroup{}
	for range 4 {
		workers.Go(func() {
			for customer := range queue {
				if err := perCustomer.Wait(context.Background(), customer); err != nil {
					log.Fatal(err)
				}
			}
		})
	}
	workers.Wait()
	fmt.Println("30 jobs of 2 customers took at least 400 ms:", time.Since(start) >= 400*time.Millisecond)
}
