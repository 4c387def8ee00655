// Slidegate on the command line: a local gateway, recorded traffic through the
// same engine, rules, and counters.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
