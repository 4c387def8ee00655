package command

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

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
