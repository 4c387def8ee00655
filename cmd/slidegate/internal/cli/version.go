package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
)

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
