package awscmd

import (
	"context"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/attach"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/doctor"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

var apiID = regexp.MustCompile(`^[a-zA-Z0-9]+$`)

func attachCommand(c *command.Console) *cobra.Command {
	var o attach.Options
	cmd := &cobra.Command{
		Use:   "attach API-ID --stage NAME",
		Short: "Put an existing API behind the limiter",
		Long: `Attach puts a REST, HTTP or WebSocket API behind the limiter, whatever tool made the API. It
adds an authorizer, gives it to the methods or routes that have none, sets the gateway responses of a REST API,
and deploys the API to the stage. Without --yes it prints the plan and changes nothing.

It refuses, with the reason, if a method has another authorizer, if CloudFormation manages the API, or if the API
was changed and not deployed. It limits all methods but OPTIONS, and of a WebSocket API $connect.

The limiter's rules table keeps the earlier values. If attach ends early, a second attach resumes, and detach
restores the API, both from any machine.`,
		Example: `  slidegate aws attach a1b2c3d4e5 --stage prod
  slidegate aws attach a1b2c3d4e5 --stage prod --yes
  slidegate aws attach a1b2c3d4e5 --stage prod --method 'GET /items' --method 'POST /items' --limiter stack://shop --yes --json`,
	}
	cmd.Flags().StringArrayVar(&o.Methods, "method", nil, "a `METHOD` to limit, such as 'GET /items'; once for each (default: all but OPTIONS)")
	cmd.Flags().BoolVar(&o.Anyway, "anyway", false, "attach although CloudFormation manages the API, or it has changes that are not deployed")
	command.Complete(cmd, "method", command.NoWords)
	return attaching(c, cmd, &o, (*attach.Region).Attach)
}

func detachCommand(c *command.Console) *cobra.Command {
	var o attach.Options
	cmd := &cobra.Command{
		Use:   "detach API-ID --stage NAME",
		Short: "Take back what attach has done",
		Long: `Detach restores an API by what the limiter's rules table keeps of it: methods or routes, gateway responses, and what
the stage serves. It removes the authorizer, and at the end the item of the table. Without --yes it prints the plan
and changes nothing. Of authorizers and methods, it touches only the limiter's.

What somebody has changed since attach is listed and left, and the item stays. If it ends early, repeat it.`,
		Example: `  slidegate aws detach a1b2c3d4e5 --stage prod
  slidegate aws detach a1b2c3d4e5 --stage prod --yes`,
	}
	cmd.Flags().BoolVar(&o.Forget, "forget", false, "delete the item of the rules table, and leave the API as it is")
	return attaching(c, cmd, &o, (*attach.Region).Detach)
}

// attaching completes a command by what attach and detach have in common.
func attaching(c *command.Console, cmd *cobra.Command, o *attach.Options, do func(*attach.Region, context.Context, attach.Options) (*attach.Report, error)) *cobra.Command {
	o.Limiter.Stack = aws.DefaultStack
	cmd.Args = command.Positional(1, 1, "one id of an API")
	cmd.Flags().StringVar(&o.Stage, "stage", "", "the `NAME` of the stage that attach deploys to")
	command.Refuse(cmd, func() bool { return o.Stage == "" }, "--stage is missing: name the stage that attach deploys to, such as prod, or $default")
	command.Var(cmd, &o.Limiter, "limiter", "the limiter's `STACK`, stack://NAME or stack://NAME/ID (default stack://slidegate)", func(text string) (l attach.Limiter, err error) {
		l.Stack, l.ID, err = command.ParseStack("--limiter", text)
		return l, err
	})
	command.Refuse(cmd, func() bool { return o.Limiter.Stack == "" }, "--limiter is empty: name a stack, or leave the flag out")
	command.Complete(cmd, "stage", command.NoWords)
	command.Complete(cmd, "limiter", command.NoWords)
	cmd.Flags().BoolVarP(&o.Apply, "yes", "y", false, "apply the plan")
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*attach.Report, error) {
		if o.API = args[0]; !apiID.MatchString(o.API) {
			return nil, command.Usagef("%s is no id of an API: want letters and digits, such as a1b2c3d4e5", o.API)
		}
		region, err := attach.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return do(region, ctx, *o)
	}, printAttached)
}

func printAttached(p *command.Printer, r *attach.Report) {
	at := fmt.Sprintf("%s API %s (%s), stage %s", r.Protocol, r.Name, r.API, r.Stage)
	if r.Protocol == "" {
		at = fmt.Sprintf("API %s, stage %s", r.API, r.Stage)
	}
	switch {
	case r.Status == attach.Unchanged:
		p.Line("nothing to do: %s decides for %s already", r.Limiter, at)
	case len(r.Changes) == 0:
		p.Line("%s: %s had nothing to change", r.Status, at)
	default:
		p.Line("%s: %s, limiter %s\n", r.Status, at, r.Limiter)
	}
	rows := make([][]string, len(r.Changes))
	for i, c := range r.Changes {
		if rows[i] = []string{"", c.Does, c.What}; c.To != "" {
			rows[i][2] += ": " + c.To
		}
	}
	p.Table("lll", rows)
	if len(r.Left)+len(r.Notes) > 0 {
		p.Line("")
	}
	for _, what := range r.Left {
		p.Line("left, because somebody has changed it since: %s", what)
	}
	for _, note := range r.Notes {
		p.Line("note: %s", note)
	}
	switch {
	case r.Status == attach.Planned:
		p.Line("\nnothing is changed yet: repeat the command with --yes")
	case r.Status == attach.Attached:
		p.Line("\nto take it back: %s --yes", r.DetachCommand())
	case len(r.Left) > 0:
		p.Line("\ntable %s keeps what was before: to delete that when you need it no more: %s --forget --yes", r.Table, r.DetachCommand())
	}
}

// errUnhealthy is the outcome of an examination that found something: the report
// says what.
const errUnhealthy = command.Outcome("findings were reported")

func doctorCommand(c *command.Console) *cobra.Command {
	var f stackFlags
	var id, template string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a deployed limiter and its APIs",
		Long: `Doctor reads a stack's function, tables, rules, rights and alarms, and the APIs whose authorizer is the function. It
says what is wrong, where, and which commands mend it. It changes nothing.

The stack may be that of deploy or of a CDK app. Doctor compares it with the template that the command carries, of
a release or by "make build" in a clone. The exit code is 1 if it reports a finding, or if a check could not be
made; notes do not count. On an emulator, what that lacks is a note.`,
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
	for _, n := range r.Notes {
		p.Line("note: %s: %s", n.Where, n.What)
		if n.Mend != "" {
			p.Line("  to change it: %s", n.Mend)
		}
	}
	if r.Healthy() {
		p.Line("nothing to mend: %s of stack %s and %s", text.Plural(r.Checks, "check"), r.Stack, text.Plural(len(r.APIs), "API"))
	}
}
