package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// outputs are the commands that write files of the user.
var outputs = map[string]string{
	"the decisions of a replay": "replay testdata/day.jsonl --rules testdata/rules.yaml --decisions OUT",
	"its page":                  "replay testdata/day.jsonl --rules testdata/rules.yaml --report OUT",
	"imported rules":            "rules import --format envoy testdata/envoy.yaml --output OUT",
	"imported overrides":        "rules import --format usage-plans testdata/usage-plans.json --keys pro=testdata/pro-keys.json --overrides OUT",
	"the first rules":           "init OUT",
	"suggested rules":           "suggest " + apacheLog + " --key ip:{ip} --window 1m --write OUT",
}

// onFullDisk runs a command as a process that may create files, and not write to
// them.
func onFullDisk(t *testing.T, command string) (code int, stderr string) {
	t.Helper()
	full := program(t)
	full.Args = append([]string{"sh", "-c", `trap "" XFSZ; ulimit -f 0; exec "$0" "$@"`, full.Path}, words(command)...)
	full.Path = "/bin/sh"
	var b strings.Builder
	full.Stderr = &b
	_ = full.Run() // its exit code is below
	return full.ProcessState.ExitCode(), b.String()
}

// TestFullDisk: if a file cannot be written, the error names it, and nothing is left
// behind. The tests of command have files that exist, and their modes.
func TestFullDisk(t *testing.T) {
	for name, command := range outputs {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			command := strings.Replace(command, "OUT", out, 1)
			code, stderr := onFullDisk(t, command)
			if code != 1 || !strings.HasSuffix(stderr, "write "+out+": file too large\n") {
				t.Errorf("exit %d, %q", code, stderr)
			}
			wantEmpty(t, dir)
			mustRun(t, command)
		})
	}
}
