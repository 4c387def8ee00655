package awscmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/doctor"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// errUnhealthy is the outcome of an examination that found something: the report
// says what.
const errUnhealthy = command.Outcome("there is something to mend")

func doctorCommand(c *command.Console) *cobra.Command {
	var f stackFlags
	var id, template string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Compare a deployed limiter with what it must be",
		Long: `Doctor reads a stack's function, tables, rules, rights and alarms, and the APIs whose authorizer is the function. It
says what is wrong, where, and which commands mend it. It changes nothing.

The stack may be that of deploy or of a CDK app. What it must be is in the template that a released command
carries. The exit code is 1 if there is something to mend, or if a check could not be made.`,
		Example: `  slidegate aws doctor
  slidegate aws doctor --stack shop --json`,
		Args: command.NoArguments,
	}
	f.add(cmd, 128)
	cmd.Flags().StringVar(&id, "limiter", "", "the `ID` of the limiter, if the stack has several")
	command.Complete(cmd, "limiter", command.NoWords)
	cmd.Flags().StringVar(&template, "template", "", "a CloudFormation template, a `FILE`, in place of the one that the command carries")
	command.Complete(cmd, "template", command.FilesOf("json"))
	healthy := true
	command.Reporting(c, cmd, func(ctx context.Context, _ []string) (*doctor.Report, error) {
		d, err := doctor.Connect(ctx)
		if err != nil {
			return nil, err
		}
		r, err := d.Examine(ctx, f.stack, id, template)
		healthy = err != nil || r.Healthy()
		return r, err
	}, printExamined)
	report := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := report(cmd, args); err != nil || healthy {
			return err
		}
		return errUnhealthy
	}
	return cmd
}

func printExamined(p *command.Printer, r *doctor.Report) {
	for _, f := range r.Findings {
		p.Line("%s %s: %s", p.Red("wrong:"), f.Where, f.What)
		p.Line("  mend: %s", f.Mend)
	}
	for _, u := range r.Unchecked {
		p.Line("not checked: %s of %s: %s", u.Check, u.Where, u.Why)
	}
	if r.Healthy() {
		p.Line("nothing to mend: %s of stack %s and %s", text.Plural(r.Checks, "check"), r.Stack, text.Plural(len(r.APIs), "API"))
	}
}
