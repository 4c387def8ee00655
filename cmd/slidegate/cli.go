package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// cli is what all commands share.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	started        bool // a command was understood and runs: what fails now is no matter of usage
}

func (c *cli) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "slidegate",
		Short: "An exact rate limiter for serverless APIs",
		Long: `Slidegate limits requests by rules, exactly: no window ever holds more than its rule says.

Counters live in this process, in DynamoDB or in Redis. DynamoDB's address, region and credentials come from
the usual AWS variables and files, such as AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL_DYNAMODB. Redis's are in
its URL: redis://USER:PASSWORD@HOST:PORT/DB, or rediss:// for TLS.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRun:  func(*cobra.Command, []string) { c.started = true },
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{err, cmd} })
	root.AddCommand(c.serveCommand(), c.replayCommand(), c.rulesCommand(), c.overridesCommand(), c.grantCommand(),
		c.explainCommand(), c.inspectCommand(), c.resetCommand(),
		c.tablesCommand(), c.versionCommand())
	return root
}

// group returns a command that only has others below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef(cmd, "unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// usageError is a command line that makes no sense.
type usageError struct {
	error
	cmd *cobra.Command
}

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), cmd}
}

// positional checks the number of arguments, which it names as the usage line does.
func positional(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef(cmd, "want %s, got %s", want, plural(len(args), "argument"))
		}
		return nil
	}
}

// faults are several things that are wrong, each of which is told on a line.
type faults []error

func (f faults) Error() string {
	lines := make([]string, len(f))
	for i, err := range f {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// apart puts a prefix before an error, or before each of several that were joined.
func apart(prefix string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s%w", prefix, err)
	}
	var told faults
	for _, e := range joined.Unwrap() {
		told = append(told, fmt.Errorf("%s%w", prefix, e))
	}
	return told
}

// exitCode prints an error, once, and returns what the program ends with.
func (c *cli) exitCode(err error) int {
	if err == nil {
		return 0
	}
	var several faults
	var invalid yamlfile.Errors
	var published *ruletable.Problems
	var usage usageError
	switch {
	case errors.As(err, &several):
		for line := range strings.SplitSeq(several.Error(), "\n") {
			c.say("%s", line)
		}
	case errors.As(err, &published):
		for line := range strings.SplitSeq(err.Error(), "\n") {
			c.say("%s", line)
		}
	case errors.As(err, &invalid):
		for _, e := range invalid {
			c.say("%v", e)
		}
	case errors.As(err, &usage):
		c.say("%v", err)
		fmt.Fprintf(c.stderr, "see: %s --help\n", usage.cmd.CommandPath())
		return 2
	default:
		c.say("%s", strings.TrimSpace(err.Error()))
		if !c.started {
			return 2
		}
	}
	return 1
}

// say prints a message for people to standard error.
func (c *cli) say(format string, args ...any) {
	fmt.Fprintf(c.stderr, "slidegate: "+format+"\n", args...)
}

func (c *cli) warn(warnings []string) {
	for _, w := range warnings {
		c.say("warning: %s", w)
	}
}

// printJSON prints a result for programs.
func printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "json", false, "print the result as JSON")
}
