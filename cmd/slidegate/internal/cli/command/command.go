// Package command has what the packages of commands share: groups of commands,
// reports and outcomes, and the console that commands read and print to.
package command

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
)

// Group returns a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
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

// Reporting completes a command: it adds --json, and shows what do reports.
// Shells offer no files for its arguments, unless it says otherwise.
func Reporting[R any](
	c *Console, cmd *cobra.Command, do func(ctx context.Context, args []string) (R, error), print func(*term.Printer, R),
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
		return Show(c.Stdout, *asJSON, report, print)
	}
	return cmd
}

// Show writes a report: as JSON, or else as print does.
func Show[R any](w io.Writer, asJSON bool, report R, print func(*term.Printer, R)) error {
	if asJSON {
		return NewEncoder(w, "  ").Encode(report)
	}
	p := term.NewPrinter(w)
	print(p, report)
	return p.Err
}

// ShowLine is Show for a report of a list: as JSON it is one line.
func ShowLine[R any](w io.Writer, asJSON bool, report R, print func(*term.Printer, R)) error {
	if asJSON {
		return NewEncoder(w, "").Encode(report)
	}
	return Show(w, false, report, print)
}

// NewEncoder returns an encoder of reports. It escapes what does not print.
func NewEncoder(w io.Writer, indent string) *json.Encoder {
	e := json.NewEncoder(term.Escaper{Writer: w})
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e
}

// Outcome is the error of a command that did its work and found something, such
// as a difference. It is no failure: nothing is printed, and the exit code is 1.
type Outcome string

func (o Outcome) Error() string { return string(o) }

// Failure is a failure with an exit code other than 1.
type Failure struct {
	Code int
	Err  error
}

func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error without its exit code.
func (f Failure) Unwrap() error { return f.Err }
