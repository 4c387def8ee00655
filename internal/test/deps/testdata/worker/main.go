// Command worker limits its own steps, and serves nothing.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/slidegate/slidegate"
)

func main() {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	for step := range 1000 {
		if err := lim.Wait(context.Background(), "api"); err != nil {
			log.Fatal(err)
		}
		fmt.Println(step)
	}
}
