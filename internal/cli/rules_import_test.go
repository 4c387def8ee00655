package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

func TestRulesImport(t *testing.T) {
	dir := t.TempDir()
	out, overrides := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "plans.jsonl")
	const envoy, plans = "rules import --format envoy testdata/envoy.yaml", "rules import --format usage-plans testdata/usage-plans.json"
	text := transcript(t.Context(), "",
		envoy,
		envoy+" --map user_id=jwt.sub",
		envoy+" --map user_id=jwt.sub --json",
		envoy+" testdata/none.yaml",
		"rules import --format envoy testdata/bad.yaml",
		plans,
		plans+" --keys pro=testdata/pro-keys.json",
		plans+" --keys pro=testdata/pro-keys.json --overrides "+overrides+" --output "+out,
		plans+" --keys pro=testdata/pro-keys.json --json --output "+out,
		plans+" --keys gold=testdata/pro-keys.json",
		"rules validate "+out,
	)
	golden(t, "rules-import", strings.ReplaceAll(text, dir, "DIR"))
	lines, err := os.ReadFile(overrides)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rules-import-overrides", string(lines))
}

// What was imported can be published, and its overrides set.
func TestRulesImportIsPublished(t *testing.T) {
	dir := t.TempDir()
	out, overrides := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "plans.jsonl")
	mustRun(t, "rules", "import", "--format", "usage-plans", "testdata/usage-plans.json", "--keys", "pro=testdata/pro-keys.json", "--output", out, "--overrides", overrides)
	_, place := published(t, dynamotest.Connect(t), out)
	if got, want := mustRun(t, "overrides", "import", "plan", overrides, "--why", "moved", "--rules", place), "1 override of plan imported\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	report := mustRun(t, "explain", "GET", "/", "--apikey", "k1abc", "--rules", place)
	if !strings.Contains(report, "plan      pro, by an override") {
		t.Errorf("the key does not have its plan:\n%s", report)
	}
}
