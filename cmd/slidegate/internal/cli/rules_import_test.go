package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/golden"
)

func TestRulesImport(t *testing.T) {
	dir := t.TempDir()
	transcript(t, "rules-import", "", scrubElapsed, "DIR", dir)
	lines, err := os.ReadFile(filepath.Join(dir, "plans.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, goldenPath("rules-import-overrides"), string(lines))
}

// Imported rules can be published, and imported overrides set.
func TestRulesImportIsPublished(t *testing.T) {
	dir := t.TempDir()
	out, overrides := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "plans.jsonl")
	mustRun(t, "rules import --format usage-plans testdata/usage-plans.json --keys pro=testdata/pro-keys.json --output "+out+" --overrides "+overrides)
	table := newTable(t, out)
	if got, want := mustRun(t, "overrides import plan "+overrides+" --why moved"+table.at), "1 override of plan imported\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	report := mustRun(t, "explain GET / --apikey k1abc"+table.at)
	if !strings.Contains(report, "plan      pro, by an override") {
		t.Errorf("the key does not have its plan:\n%s", report)
	}
}
