package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
)

// buildReport says how this program was built.
type buildReport struct {
	Version  string `json:"version"`          // of the module, as the Go tool stamped it
	Commit   string `json:"commit,omitempty"` // that a release or a clone was built from
	Date     string `json:"date,omitempty"`   // of that commit, as RFC 3339
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
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return newBuildReport(info)
}

func newBuildReport(info *debug.BuildInfo) buildReport {
	b := buildReport{Version: info.Main.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
func (b buildReport) String() string {
	commit := ""
	if b.Commit != "" {
		commit = fmt.Sprintf("commit %s of %s, ", b.Commit, b.Date)
	}
	return fmt.Sprintf("slidegate %s (%s%s, %s)", b.Version, commit, b.Go, b.Platform)
}
