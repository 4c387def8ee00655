package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  slidegate version`,
		Args:    positional(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if asJSON {
				return printJSON(c.stdout, b)
			}
			p := printer{w: c.stdout}
			p.line("slidegate %s (%s, %s)", b.Version, b.Go, b.Platform)
			return p.err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// build says what this program was made of.
type build struct {
	Version  string `json:"version"` // of the module, as the Go tool stamped it
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{"unknown", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	return b
}
