// Package cli is Slidegate's command line: a file for each command or few of
// one kind, with their flags, help, completion and printing. What the commands do is in cmd/slidegate/internal/operator.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
)

// cli is what all commands share. It is an operator.Listener.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	started        bool // the command line was understood: other failures exit with failure
	failure        int
}

// Run runs the command in args and returns the exit code: 0 for success, 1 for a
// failure, 2 for an invalid command line.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	logging.Disable() // the errors have what go-redis would print
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, failure: 1}
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(term.Escaper{Writer: stdout})
	root.SetErr(term.Escaper{Writer: stderr})
	cmd, err := root.ExecuteContextC(ctx)
	return c.exitCode(cmd, err)
}

func (c *cli) rootCommand() *cobra.Command {
	root := group("slidegate", "An exact rate limiter for serverless APIs", c.initCommand(), c.serveCommand(), c.topCommand(), c.replayCommand(),
		c.suggestCommand(), c.costCommand(), c.rulesCommand(),
		c.awsCommand(), c.overridesCommand(), c.grantCommand(), c.apiKeysCommand(), c.explainCommand(), c.inspectCommand(), c.resetCommand(),
		group("tables", "Create the tables in DynamoDB", c.tablesCreateCommand()), c.versionCommand())
	root.Long = `Slidegate limits requests by rules, exactly: no sliding window ever holds more than its rule says.

Counters live in this process, in DynamoDB or in Redis. DynamoDB's address, region and credentials come from
the usual AWS variables and files, such as AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL_DYNAMODB. Redis's are in
its URL, redis://USER:PASSWORD@HOST:PORT/DB, or rediss:// for TLS. Wherever a command takes dynamodb://TABLE, it
takes stack://NAME: the table that the CloudFormation stack NAME outputs, or stack://NAME/ID of several limiters.

Environment variables:
  SLIDEGATE_RULES           the rules, if --rules is not given
  SLIDEGATE_STORE           the store of counters, if --store is not given; replay needs the flag
  SLIDEGATE_REDIS_PASSWORD  the password of a redis:// URL without one, so that no list of processes shows it
  SLIDEGATE_DECIDE_TOKEN    the token that programs and proxies have to send to serve --decide`
	version := root.Flags().BoolP("version", "v", false, "version for slidegate")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), readBuild())
			return err
		}
		return help(cmd, args)
	}
	root.SilenceErrors, root.SilenceUsage, root.DisableAutoGenTag = true, true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { c.started = true }
	root.SetUsageFunc(groupsAlone(root.UsageFunc()))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
			return cmd.Args(cmd, args) // the unknown flag may be one of the command that was meant
		}
		var usage flags.UsageError
		if errors.As(err, &usage) {
			return usage // without pflag's own words around it
		}
		return flags.Usagef("%w", err)
	})
	return root
}

// groupsAlone leaves the usage of a group's own out of its help. It does without
// cobra's templates: package text/template keeps the linker from dropping what is
// not called, which doubles the size of the program.
func groupsAlone(usage func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		if cmd.HasAvailableSubCommands() {
			run := cmd.RunE
			cmd.RunE = nil // else it counts as a command that runs
			defer func() { cmd.RunE = run }()
		}
		return usage(cmd)
	}
}

// group returns a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return flags.Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), meant(cmd, args[0]))
			}
			return nil
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2, // the letters that a typing error may change
	}
	cmd.AddCommand(commands...)
	return cmd
}

// meant names the commands that an unknown one may stand for: those of groups
// below cmd that have its name, or else those of cmd with a similar one.
func meant(cmd *cobra.Command, unknown string) string {
	var paths []string
	for _, below := range cmd.Commands() {
		for _, c := range below.Commands() {
			if c.Name() == unknown {
				paths = append(paths, c.CommandPath())
			}
		}
	}
	if len(paths) == 0 {
		for _, name := range cmd.SuggestionsFor(unknown) {
			paths = append(paths, cmd.CommandPath()+" "+name)
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(paths, " or ") + "?"
}

// errDiffer is the outcome of a comparison, and no failure: nothing is printed.
var errDiffer = errors.New("the rules differ")

// errUnhealthy is the outcome of an examination that found something, and no
// failure: the report says what.
var errUnhealthy = errors.New("there is something to mend")

// exitCode prints the error of a command and returns the exit code.
func (c *cli) exitCode(cmd *cobra.Command, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDiffer), errors.Is(err, errUnhealthy):
		return 1
	}
	message := strings.TrimSpace(err.Error())
	if c.started { // each line is an error of its own
		message = strings.ReplaceAll(message, "\n", "\nslidegate: ")
	}
	c.Note("%s", message)
	var usage flags.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(c.stderr, "see: %s --help\n", cmd.CommandPath())
		return 2
	}
	if !c.started {
		return 2
	}
	return c.failure
}

// Note prints a message to standard error. It escapes what does not print.
func (c *cli) Note(format string, args ...any) {
	fmt.Fprintf(term.Escaper{Writer: c.stderr}, "slidegate: "+format+"\n", args...)
}

// Warn prints a warning to standard error.
func (c *cli) Warn(format string, args ...any) { c.Note("warning: "+format, args...) }

// Progress returns a line of progress on standard error.
func (c *cli) Progress() operator.Progress { return term.NewProgress(c.stderr, time.Now) }

// reporting completes a command: it adds --json, and shows what do reports.
// Shells offer no files for its arguments, unless it says otherwise.
func reporting[R any](
	c *cli, cmd *cobra.Command, do func(ctx context.Context, args []string) (R, error), print func(*term.Printer, R),
) *cobra.Command {
	asJSON := flags.JSON(cmd)
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = flags.NoWords
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		report, err := do(cmd.Context(), args)
		if err != nil {
			return err
		}
		return show(c.stdout, *asJSON, report, print)
	}
	return cmd
}

// show writes a report: as JSON, or else as print does.
func show[R any](w io.Writer, asJSON bool, report R, print func(*term.Printer, R)) error {
	if asJSON {
		return newEncoder(w, "  ").Encode(report)
	}
	p := term.NewPrinter(w)
	print(p, report)
	return p.Err
}

// showLine is show for a report of a list: as JSON it is one line.
func showLine[R any](w io.Writer, asJSON bool, report R, print func(*term.Printer, R)) error {
	if asJSON {
		return newEncoder(w, "").Encode(report)
	}
	return show(w, false, report, print)
}

// newEncoder returns an encoder of reports. It escapes what does not print.
func newEncoder(w io.Writer, indent string) *json.Encoder {
	e := json.NewEncoder(term.Escaper{Writer: w})
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e
}
