package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
)

// buildReport says how this program was built.
type buildReport struct {
	Version  string `json:"version"` // of the module, as the Go tool stamped it
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c *cli) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  slidegate version`,
		Args:    flags.Positional(0, 0, "no arguments"),
	}
	read := func(context.Context, []string) (buildReport, error) { return readBuild(), nil }
	return reporting(c, cmd, read, func(p *term.Printer, b buildReport) { p.Line("%s", b) })
}

func readBuild() buildReport {
	b := buildReport{"unknown", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	return b
}

// String is the line that version and --version print.
func (b buildReport) String() string {
	return fmt.Sprintf("slidegate %s (%s, %s)", b.Version, b.Go, b.Platform)
}
