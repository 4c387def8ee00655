package cli

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/ruletable"
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
	client := dynamotest.Connect(t)
	table, place := published(t, client, "testdata/business.yaml")
	for _, key := range []string{"tenant:b", "tenant:a", "tenant:auth0|7"} {
		mustRun(t, "overrides", "set", "api", key, "--deny", "--why", "x", "--rules", place)
	}
	mustRun(t, "rules", "apply", "testdata/business.yaml", "--who", "jo", "--why", "again", "--rules", place)
	for _, key := range []string{"user:7", "user:auth0|8"} {
		mustRun(t, "overrides", "set", "chat", key, "--deny", "--why", "x", "--rules", place)
	}
	left := ruletable.Override{Rule: "chat", Key: "tenant:zeta", Document: `{"deny": true}`, Note: ruletable.Note{Who: "jo", When: time.Now()}}
	if err := ruletable.New(client, table).SetOverride(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	const at = " --rules dynamodb://TABLE "
	golden(t, "complete-table", tableSession(t, table,
		"__complete overrides get"+at+"a", "__complete overrides get"+at+"api ''", "__complete overrides delete"+at+"api tenant:a",
		"__complete overrides get"+at+"export ''", "__complete grant"+at+"api.x ''", "__complete rules get"+at+"''", "__complete rules rollback"+at+"1",
		"__complete overrides set"+at+"plan user:7 --plan e", "__complete reset"+at+"chat ''", "__complete reset"+at+"chat user:a",
		"__complete reset"+at+"api ''", "__complete reset"+at+"chat user:7 ''", "__complete inspect"+at+"''", "__complete inspect"+at+"user:a",
		"__complete inspect"+at+"--rule chat ''", "__complete inspect"+at+"--rule api ''", "__complete inspect"+at+"user:7 ''",
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
