// Slidegate on the command line: a local gateway, recorded traffic through the
// same engine, rules, and counters.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-signals
		signal.Stop(signals) // before anything can react to the first: a second one ends the program at once
		cancel(fmt.Errorf("%v signal received", first))
	}()
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
