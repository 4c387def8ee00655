package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/outfile"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator/aws"
	"github.com/slidegate/slidegate/internal/operator/aws/attach"
)

var apiID = regexp.MustCompile(`^[a-zA-Z0-9]+$`)

func (c *cli) awsAttachCommand() *cobra.Command {
	var o attach.Options
	var file string
	var yes bool
	o.Limiter.Stack = aws.DefaultStack
	cmd := &cobra.Command{
		Use:   "attach API-ID --stage NAME",
		Short: "Put an API that exists behind the limiter",
		Long: `Attach has API Gateway ask the limiter about the requests to a REST, HTTP or WebSocket API, whatever made the API. It
adds an authorizer, gives it to the methods or routes that have none, sets the gateway responses of a REST API,
and deploys the API to the stage. Without --yes it prints the plan and changes nothing.

It refuses, with the reason, if a method has another authorizer, if CloudFormation manages the API, or if the API
was changed and not deployed. It limits all methods but OPTIONS, and of a WebSocket API $connect.

A file keeps what was before. If attach ends early, a second attach goes on by it, and detach takes all back.`,
		Example: `  slidegate aws attach a1b2c3d4e5 --stage prod
  slidegate aws attach a1b2c3d4e5 --stage prod --yes
  slidegate aws attach a1b2c3d4e5 --stage prod --method 'GET /items' --method 'POST /items' --limiter stack://shop --yes --json`,
		Args: flags.Positional(1, 1, "one id of an API"),
	}
	cmd.Flags().StringVar(&o.Stage, "stage", "", "the `NAME` of the stage to deploy to")
	flags.Refuse(cmd, func() bool { return o.Stage == "" }, "--stage is missing: name the stage to deploy to, such as prod, or $default")
	flags.Var(cmd, &o.Limiter, "limiter", "the limiter's `STACK`, stack://NAME or stack://NAME/ID (default stack://slidegate)", func(text string) (l attach.Limiter, err error) {
		l.Stack, l.ID, err = flags.ParseStack("--limiter", text)
		return l, err
	})
	flags.Refuse(cmd, func() bool { return o.Limiter.Stack == "" }, "--limiter is empty: name a stack, or leave the flag out")
	cmd.Flags().StringArrayVar(&o.Methods, "method", nil, "a `METHOD` to limit, such as 'GET /items'; once for each (default: all but OPTIONS)")
	cmd.Flags().StringVar(&file, "state", "", "the `FILE` that keeps what was before (default slidegate-API-ID.json)")
	cmd.Flags().BoolVar(&o.Anyway, "anyway", false, "attach although CloudFormation manages the API, or it has changes that are not deployed")
	for _, name := range []string{"stage", "limiter", "method"} {
		flags.Complete(cmd, name, flags.NoWords)
	}
	flags.Complete(cmd, "state", flags.FilesOf("json"))
	addApply(cmd, &yes)
	return reporting(c, cmd, func(ctx context.Context, args []string) (*attach.Report, error) {
		if o.API = args[0]; !apiID.MatchString(o.API) {
			return nil, flags.Usagef("%s is no id of an API: want letters and digits, such as a1b2c3d4e5", o.API)
		}
		return attachAPI(ctx, o, cmp.Or(file, "slidegate-"+o.API+".json"), yes)
	}, printAttached)
}

// attachAPI attaches an API by a state file, which may be missing.
func attachAPI(ctx context.Context, o attach.Options, file string, apply bool) (*attach.Report, error) {
	region, err := attach.Connect(ctx)
	if err != nil {
		return nil, err
	}
	state, err := readState(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	saved := false
	if apply {
		o.Save = func(s *attach.State) error {
			err := saveState(file, s)
			saved = saved || err == nil
			return err
		}
	}
	report, err := region.Attach(ctx, o, state)
	switch {
	case err == nil:
		report.File = file
	case saved:
		err = fmt.Errorf("%w\nattach ended early: repeat it to go on, or take all back: slidegate aws detach %s --yes", err, file)
	}
	return report, err
}

func (c *cli) awsDetachCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "detach FILE",
		Short: "Take back what attach has done",
		Long: `Detach restores an API by the file of attach: methods or routes, gateway responses, and what the stage serves. It
removes the authorizer, and at the end the file. Without --yes it prints the plan and changes nothing.

What somebody has changed since attach is listed and left, and the file stays. If it ends early, repeat it.`,
		Example: `  slidegate aws detach slidegate-a1b2c3d4e5.json
  slidegate aws detach slidegate-a1b2c3d4e5.json --yes`,
		Args: flags.Positional(1, 1, "one file of attach"), ValidArgsFunction: flags.FilesOf("json"),
	}
	addApply(cmd, &yes)
	return reporting(c, cmd, func(ctx context.Context, args []string) (*attach.Report, error) {
		return detachAPI(ctx, args[0], yes)
	}, printAttached)
}

// detachAPI detaches an API by a state file, which it removes if nothing is left.
func detachAPI(ctx context.Context, file string, apply bool) (*attach.Report, error) {
	state, err := readState(file)
	if err != nil {
		return nil, err
	}
	region, err := attach.Connect(ctx)
	if err != nil {
		return nil, err
	}
	var save func(*attach.State) error
	if apply {
		save = func(s *attach.State) error { return saveState(file, s) }
	}
	report, err := region.Detach(ctx, state, save)
	if err != nil {
		return nil, fmt.Errorf("%w\nrepeat detach to go on: %s has what was before", err, file)
	}
	if report.File = file; apply && len(report.Left) == 0 {
		err = os.Remove(file)
	}
	return report, err
}

func addApply(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "apply the plan")
}

func readState(file string) (*attach.State, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := attach.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func saveState(file string, s *attach.State) error {
	return outfile.Write(file, nil, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(s)
	})
}

func printAttached(p *term.Printer, r *attach.Report) {
	at := fmt.Sprintf("%s API %s (%s), stage %s", r.Protocol, r.Name, r.API, r.Stage)
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
		rows[i] = []string{"", c.Does, c.What}
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
		p.Line("\nto take it back: slidegate aws detach %s --yes", r.File)
	case len(r.Left) > 0:
		p.Line("\n%s has what was before: delete it when you need it no more", r.File)
	}
}
