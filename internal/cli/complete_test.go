package cli

import (
	"os/exec"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	signedOut(t)
	transcript(t, "complete", "", scrubElapsed)
}

// The scripts for shells ask the program for words. Each shell that is installed
// checks its script.
func TestCompletionScripts(t *testing.T) {
	for shell, part := range map[string]string{
		"bash": "complete -o default", "zsh": "#compdef slidegate", "fish": "complete -c slidegate", "powershell": "Register-ArgumentCompleter",
	} {
		script := mustRun(t, "completion "+shell)
		if !strings.Contains(script, part) || !strings.Contains(script, "__complete") {
			t.Errorf("%s: the script lacks %q or __complete", shell, part)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(script)
		if output, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s refuses the script: %v\n%s", shell, err, output)
		}
	}
}
