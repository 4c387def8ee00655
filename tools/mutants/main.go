// Command mutants measures which faults the tests catch. It makes small changes
// to the code of a package, one at a time, and runs the tests that should fail.
// It lists the changes for which all tests pass.
//
// Usage, at the root of the module:
//
//	mutants [flags] [PACKAGE...]
//
// A PACKAGE is a directory such as internal/limit; none means all in
// targets.go. The file of -equivalents lists the mutants that no test can
// catch, with the reason. The command does not write to the tree: the compiler
// reads each mutant through an overlay. The exit status is 1 if an unlisted
// mutant survived or the list is out of date.
//
// The method is that of DeMillo, Lipton and Sayward, "Hints on Test Data
// Selection: Help for the Practicing Programmer" (IEEE Computer, 1978).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, targets, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, targets []target, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	equivalentsFile := flags.String("equivalents", "tools/mutants/equivalents.txt", "`file` of the mutants that no test can catch")
	budget := flags.Duration("budget", 6*time.Hour, "stop after this time; what is left counts as not run")
	grace := flags.Duration("grace", 10*time.Second, "a mutant times out after this and four times what the tests take without it")
	workers := flags.Int("workers", runtime.NumCPU(), "mutants to try at once")
	asJSON := flags.Bool("json", false, "print one JSON object instead of a table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *workers < 1 {
		return fmt.Errorf("-workers=%d: at least one is needed", *workers)
	}
	targets, err := choose(targets, flags.Args())
	if err != nil {
		return err
	}
	known, err := readEquivalents(*equivalentsFile)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, *budget)
	defer cancel()
	r := &report{Survivors: []result{}, Stale: []string{}}
	for _, t := range targets {
		results, err := examine(limited, t, *workers, *grace, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", t.pkg, err)
		}
		r.add(t.pkg, results, known)
	}
	return errors.Join(r.print(stdout, *asJSON), ctx.Err(), r.verdict())
}
