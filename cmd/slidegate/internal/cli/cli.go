// Package cli is Slidegate's command line: its root command, its exit codes, and
// commands that stand alone. Commands of one noun are in a package of their own,
// such as awscmd. What several commands do is in cmd/slidegate/internal/operator.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/awscmd"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/keyscmd"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/rulescmd"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/trafficcmd"
)

// cli is one run of a command line.
type cli struct {
	command.Console
	started bool // the command line was understood: other failures exit with 1
}

// Run runs the command in args and returns the exit code: 0 for success, 1 for a
// failure, 2 for an invalid command line.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	logging.Disable() // the errors have what go-redis would print
	c := &cli{Console: command.Console{Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	root := c.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	out := command.Escaper{Writer: stdout}
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		out.Without = "`" // the mark of arguments in usages of flags, which completions show as they are
	}
	root.SetOut(out)
	root.SetErr(command.Escaper{Writer: stderr})
	cmd, err := root.ExecuteContextC(ctx)
	return c.exitCode(cmd, err)
}

func (c *cli) rootCommand() *cobra.Command {
	console := &c.Console
	root := command.Group("slidegate", "An exact rate limiter for serverless APIs",
		initCommand(console), serveCommand(console), healthCommand(console),
		trafficcmd.ReplayCommand(console), trafficcmd.SuggestCommand(console), trafficcmd.CostCommand(console),
		rulescmd.Command(console), awscmd.Command(console),
		keyscmd.OverridesCommand(console), keyscmd.GrantCommand(console), keyscmd.APIKeysCommand(console),
		explainCommand(console), inspectCommand(console), resetCommand(console),
		command.Group("tables", "Create the tables in DynamoDB", tablesCreateCommand(console)), versionCommand(console))
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
			_, err := fmt.Fprintln(cmd.OutOrStdout(), command.ReadBuild())
			return err
		}
		return help(cmd, args)
	}
	root.InitDefaultHelpCmd()
	topics, _, _ := root.Find([]string{"help"})
	topics.Args = func(_ *cobra.Command, args []string) error {
		if about, rest, _ := root.Find(args); about.HasSubCommands() {
			return about.ValidateArgs(rest) // else the help of the group would answer
		}
		return nil
	}
	root.SilenceErrors, root.SilenceUsage, root.DisableAutoGenTag = true, true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { c.started = true }
	root.SetUsageFunc(groupsAlone(root.UsageFunc()))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
			return cmd.Args(cmd, args) // the unknown flag may be one of the command that was meant
		}
		if usage, ok := errors.AsType[command.UsageError](err); ok {
			return usage // without pflag's own words around it
		}
		return command.Usagef("%w", err)
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

// exitCode prints the error of a command and returns the exit code.
func (c *cli) exitCode(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if _, found := errors.AsType[command.Outcome](err); found {
		return 1
	}
	message := strings.TrimSpace(err.Error())
	if c.started { // each line is an error of its own
		message = strings.ReplaceAll(message, "\n", "\nslidegate: ")
	}
	c.Note("%s", message)
	if _, wrong := errors.AsType[command.UsageError](err); wrong {
		fmt.Fprintf(c.Stderr, "see: %s --help\n", cmd.CommandPath())
		return 2
	}
	if !c.started {
		return 2
	}
	failure := command.Failure{Code: 1} // unless the command names another code
	_ = errors.As(err, &failure)
	return failure.Code
}

func versionCommand(c *command.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  slidegate version`,
		Args:    command.Positional(0, 0, "no arguments"),
	}
	read := func(context.Context, []string) (command.Build, error) { return command.ReadBuild(), nil }
	return command.Reporting(c, cmd, read, func(p *command.Printer, b command.Build) { p.Line("%s", b) })
}
