// Package cli is Slidegate's command line: a file per command, with its flags,
// help, completion and printing. What the commands do is in internal/operator.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
)

// cli is what all commands share. It is an operator.Listener.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	started        bool // a command was understood and runs: a failure is no usage error
}

// Run does what the arguments say and returns the exit code: 0 for success, 1
// for a failure, 2 for a command line that makes no sense.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	logging.Disable() // the errors have what go-redis would print
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr}
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return c.exitCode(root.ExecuteContext(ctx))
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flags.Usagef(cmd, "%w", err) })
	root.AddCommand(c.serveCommand(), c.replayCommand(), c.rulesCommand(), c.overridesCommand(), c.grantCommand(),
		c.explainCommand(), c.inspectCommand(), c.resetCommand(),
		c.tablesCommand(), c.versionCommand())
	return root
}

// group returns a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return flags.Usagef(cmd, "unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// exitCode prints an error, once, and returns the exit code.
func (c *cli) exitCode(err error) int {
	if err == nil {
		return 0
	}
	var usage flags.UsageError
	switch {
	case errors.As(err, &usage):
		c.Note("%v", err)
		fmt.Fprintf(c.stderr, "see: %s --help\n", usage.Cmd.CommandPath())
		return 2
	case !c.started:
		c.Note("%s", strings.TrimSpace(err.Error()))
		return 2
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		c.Note("%s", line)
	}
	return 1
}

// Note prints a message to standard error.
func (c *cli) Note(format string, args ...any) {
	fmt.Fprintf(c.stderr, "slidegate: "+format+"\n", args...)
}

// Warn prints a warning to standard error.
func (c *cli) Warn(format string, args ...any) { c.Note("warning: "+format, args...) }

// Progress returns a line of progress on standard error.
func (c *cli) Progress() operator.Progress { return term.NewProgress(c.stderr, time.Now) }

// report prints what a command has done, unless it failed: as JSON, or else for
// people.
func (c *cli) report(asJSON bool, report any, err error, print func(*term.Printer)) error {
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.stdout, report)
	}
	p := term.NewPrinter(c.stdout)
	print(p)
	return p.Err
}

// printJSON prints a report for programs.
func printJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  slidegate version`,
		Args:    flags.Positional(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			return c.report(asJSON, b, nil, func(p *term.Printer) {
				p.Line("slidegate %s (%s, %s)", b.Version, b.Go, b.Platform)
			})
		},
	}
	flags.JSON(cmd, &asJSON)
	return cmd
}

// buildReport says how this program was built.
type buildReport struct {
	Version  string `json:"version"` // of the module, as the Go tool stamped it
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() buildReport {
	b := buildReport{"unknown", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	return b
}
