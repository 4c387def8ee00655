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

func TestCompleteFromATable(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	for _, key := range []string{"api tenant:b", "api tenant:a", "api tenant:auth0|7"} {
		mustRun(t, "overrides set "+key+" --deny --why x"+table.at)
	}
	mustRun(t, "rules apply "+rewritten(t, "testdata/business.yaml", "\nrules:", "\nrules: # the same")+" --who jo --why again"+table.at)
	for _, key := range []string{"chat user:7", "chat user:auth0|8"} {
		mustRun(t, "overrides set "+key+" --deny --why x"+table.at)
	}
	table.set(t, "chat", "tenant:zeta", `{"deny": true}`)
	keys := table.newKeys(t, "--id acme", "--id zeta")
	mustRun(t, "apikeys revoke --why x "+keys[1]+table.at)
	table.transcript(t, "complete-table", "KEY", keys[0], "REVOKED", keys[1])
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
