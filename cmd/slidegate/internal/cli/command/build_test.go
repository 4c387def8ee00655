package command

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestBuildReport has the build information of `go build` in a clone, of `go
// install` by a version, which knows no commit, and of a test.
func TestBuildReport(t *testing.T) {
	built := "(" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "404db0d7"}, {Key: "vcs.time", Value: "2026-12-31T10:00:00Z"}}
	for want, info := range map[string]debug.BuildInfo{
		"slidegate v0.2.0 (commit 404db0d7 of 2026-12-31T10:00:00Z, " + built[1:]: {Main: debug.Module{Version: "v0.2.0"}, Settings: commit},
		"slidegate v0.2.0 " + built:  {Main: debug.Module{Version: "v0.2.0"}},
		"slidegate unknown " + built: {},
	} {
		if got := newBuild(&info).String(); got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	}
}
