// Package command has what the packages of commands share: groups of commands,
// reports and outcomes, flags and their completion, the console that commands read
// and print to, and files that they write whole or not at all.
package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Group returns a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), meant(cmd, args[0]))
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
	c *Console, cmd *cobra.Command, do func(ctx context.Context, args []string) (R, error), print func(*Printer, R),
) *cobra.Command {
	asJSON := JSON(cmd)
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = NoWords
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

// OnTable is Reporting for a command on a rules table, and adds --rules.
func OnTable[R any](
	c *Console, cmd *cobra.Command, do func(ctx context.Context, table *ruletable.Table, args []string) (R, error), print func(*Printer, R),
) *cobra.Command {
	var where Locations
	where.AddTable(cmd)
	return Reporting(c, cmd, func(ctx context.Context, args []string) (none R, err error) {
		table, err := session.OpenTable(ctx, where.RulesTable)
		if err != nil {
			return none, err
		}
		return do(ctx, table, args)
	}, print)
}

// ListTable completes a command that lists what a rules table has: it adds --rules
// and --json, and shows each item as soon as list passes it, on a line.
func ListTable[R any](
	c *Console, cmd *cobra.Command, list func(ctx context.Context, table *ruletable.Table, args []string, show func(R) error) error, print func(*Printer, R),
) *cobra.Command {
	var where Locations
	where.AddTable(cmd)
	asJSON := JSON(cmd)
	cmd.ValidArgsFunction = NoWords
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		table, err := session.OpenTable(cmd.Context(), where.RulesTable)
		if err != nil {
			return err
		}
		return list(cmd.Context(), table, args, func(item R) error {
			if *asJSON {
				return NewEncoder(c.Stdout, "").Encode(item)
			}
			return Show(c.Stdout, false, item, print)
		})
	}
	return cmd
}

// Show writes a report: as JSON, or else as print does.
func Show[R any](w io.Writer, asJSON bool, report R, print func(*Printer, R)) error {
	if asJSON {
		return NewEncoder(w, "  ").Encode(report)
	}
	p := NewPrinter(w)
	print(p, report)
	return p.Err
}

// NewEncoder returns an encoder of reports. It escapes what does not print.
func NewEncoder(w io.Writer, indent string) *json.Encoder {
	e := json.NewEncoder(Escaper{Writer: w})
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

// Build says how this program was built.
type Build struct {
	Version  string `json:"version"`          // of the module, as the Go tool stamped it
	Commit   string `json:"commit,omitempty"` // that a release or a clone was built from
	Date     string `json:"date,omitempty"`   // of that commit, as RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuild returns how this program was built.
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return newBuild(info)
}

func newBuild(info *debug.BuildInfo) Build {
	b := Build{Version: info.Main.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if b.Version == "" {
		b.Version = "unknown"
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Date = setting.Value
		}
	}
	return b
}

// String is the line that version and --version print.
func (b Build) String() string {
	commit := ""
	if b.Commit != "" {
		commit = fmt.Sprintf("commit %s of %s, ", b.Commit, b.Date)
	}
	return fmt.Sprintf("slidegate %s (%s%s, %s)", b.Version, commit, b.Go, b.Platform)
}
