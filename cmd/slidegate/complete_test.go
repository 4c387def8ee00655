package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

func TestComplete(t *testing.T) {
	signedOut(t)
	const business = "--rules testdata/business.yaml "
	golden(t, "complete", transcript(t.Context(), "",
		"__complete ''", "__complete ov", "__complete overrides ''", "__complete rules ''", "__complete explain ''", "__complete explain GET ''",
		"__complete explain --", "__complete inspect "+business+"--rule ''", "__complete inspect "+business+"--rule a", "__complete inspect "+business+"''",
		"__complete reset "+business+"''", "__complete reset "+business+"api ''", "__complete rules validate ''", "__complete rules validate x ''",
		"__complete overrides set "+business+"''", "__complete overrides set "+business+"api ''", "__complete overrides set "+business+"plan user:7 --plan ''",
		"__complete grant "+business+"''", "__complete grant "+business+"chat.", "__complete overrides import "+business+"api ''",
		"__complete overrides import --format ''", "__complete rules import --format ''", "__complete rules rollback "+business+"''",
		"__complete inspect --rule ''", "__complete inspect --rules testdata/none.yaml --rule ''", "__complete inspect --rules testdata/bad.yaml --rule ''",
		"__complete inspect --rules dynamodb://nowhere --rule ''",
	))
}

func TestCompleteFromATable(t *testing.T) {
	table, place := published(t, dynamotest.Connect(t), "testdata/business.yaml")
	for _, key := range []string{"tenant:b", "tenant:a", "tenant:auth0|7"} {
		mustRun(t, "overrides", "set", "api", key, "--deny", "--why", "x", "--rules", place)
	}
	mustRun(t, "rules", "apply", "testdata/business.yaml", "--who", "jo", "--why", "again", "--rules", place)
	const at = " --rules dynamodb://TABLE "
	golden(t, "complete-table", session(t, table,
		"__complete overrides get"+at+"a", "__complete overrides get"+at+"api ''", "__complete overrides delete"+at+"api tenant:a",
		"__complete overrides get"+at+"chat ''", "__complete grant"+at+"api.x ''", "__complete rules get"+at+"''", "__complete rules rollback"+at+"1",
		"__complete overrides set"+at+"plan user:7 --plan e",
	))
}

// The scripts for shells load, and ask the program for words. The shell that is at hand runs its own.
func TestCompletionScripts(t *testing.T) {
	for shell, part := range map[string]string{
		"bash": "complete -o default", "zsh": "#compdef slidegate", "fish": "complete -c slidegate", "powershell": "Register-ArgumentCompleter",
	} {
		script := mustRun(t, "completion", shell)
		if !strings.Contains(script, part) || !strings.Contains(script, "__complete") {
			t.Errorf("%s: the script lacks %q or __complete", shell, part)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(script)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not take it: %v\n%s", shell, err, said)
		}
	}
}
