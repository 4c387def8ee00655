package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
)

func versionCommand(c *command.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  slidegate version`,
		Args:    flags.Positional(0, 0, "no arguments"),
	}
	read := func(context.Context, []string) (command.Build, error) { return command.ReadBuild(), nil }
	return command.Reporting(c, cmd, read, func(p *term.Printer, b command.Build) { p.Line("%s", b) })
}
